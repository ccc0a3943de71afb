"""Window queries over data streams: every window kind, any disorder, one answer, on Spark."""
