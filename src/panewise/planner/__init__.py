"""What a plan means before it runs: labels, legality, progress, which engine can run it, and explain."""
