"""Joins of streams: order-agnostic (OA-Join), with the in-order baselines beside it."""
