"""What flows between relational operators, and how rows wait for their instants."""
