"""What rows and punctuation pass on their way, one family of operators a file; none restores an order (Li 8)."""
