"""Research baselines that a query can choose."""
