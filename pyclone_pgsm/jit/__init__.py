"""Compilation of kernels for a likelihood, and the cache of machine code."""
