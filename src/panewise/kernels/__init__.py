"""Columnar kernels every engine shares: grouping, partial aggregates, panes, and window aggregates by window ids."""
