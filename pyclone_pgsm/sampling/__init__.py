"""Iterations, chains and threads."""
