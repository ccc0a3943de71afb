"""Which plans mean something, and which engine runs them."""
