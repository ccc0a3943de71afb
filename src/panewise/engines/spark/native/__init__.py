"""Batch runs: Spark's own operators where they are exact, else kernels in tasks."""
