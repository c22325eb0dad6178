"""Iterations, and chains, which run in parallel."""
