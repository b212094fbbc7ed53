"""Stores: where documents and chunks are kept and searched. One file per engine."""
