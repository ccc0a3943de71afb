"""What a user can see of a running query."""
