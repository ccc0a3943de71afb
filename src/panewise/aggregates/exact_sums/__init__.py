"""Sums that lose nothing."""
