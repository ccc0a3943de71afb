"""DISTINCT."""
