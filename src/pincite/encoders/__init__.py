"""Encoders: text into vectors. One file per way of running a model."""
