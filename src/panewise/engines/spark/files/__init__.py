"""Runs over streams in files: a batch job, or a stream whose results are kept beside its checkpoint."""
