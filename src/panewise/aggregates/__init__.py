"""Aggregate functions as mergeable states: scalar form (the definition) and columnar form (what kernels run)."""
