"""Iterations, chains, and chains beside each other."""
