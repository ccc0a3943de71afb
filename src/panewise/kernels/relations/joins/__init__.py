"""Joins of relations."""
