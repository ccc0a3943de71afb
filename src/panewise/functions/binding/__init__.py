"""Expressions bound to types, and computed."""
