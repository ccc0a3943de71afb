"""What every window kernel is, and the form its state has."""
