"""Windows by the positions of rows."""
