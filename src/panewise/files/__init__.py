"""Streams in files and results to files: Parquet, CSV and NDJSON, row order is arrival order, punctuation in line."""
