"""Continuous relations as kernels: what happens between two bounds, for all instants at once.

Every operator takes the deltas of its inputs over the same stretch of instants and gives its own (``step``). Nothing
depends on where the stretches are cut.
"""
