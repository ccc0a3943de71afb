"""Continuous relations: a plan becomes a tree of kernels, stepped from bound to bound."""
