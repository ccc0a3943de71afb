"""Joins of streams: order-agnostic (OA-Join)."""
