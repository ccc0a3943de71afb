"""Aggregates over changing contents."""
