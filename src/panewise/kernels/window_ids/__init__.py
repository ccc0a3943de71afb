"""Windows by their ids: one state for each group and open window."""
