"""Groups and values by number."""
