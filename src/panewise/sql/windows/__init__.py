"""Window brackets."""
