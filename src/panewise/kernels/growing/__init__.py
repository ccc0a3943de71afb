"""Windows that grow: landmarks and sessions."""
