"""Progress: what sources promise (punctuation), how promises are made, combined and kept, and what late rows become."""
