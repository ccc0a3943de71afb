"""What follows from a plan alone."""
