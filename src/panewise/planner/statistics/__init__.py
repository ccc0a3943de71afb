"""What is known of the inputs before and while a plan runs."""
