"""Plans as DataFrame operations."""
