"""What is decided: kernels, plans, joins, state, shards."""
