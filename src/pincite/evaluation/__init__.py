"""Measuring retrieval: data sets, measures, significance, reports."""
