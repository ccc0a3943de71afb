"""Kernels and dataflows inside a stateful operator."""
