"""Windows put together from panes."""
