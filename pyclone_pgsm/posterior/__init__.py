"""Consensus partition, prevalences with their intervals, and diagnostics of the chains."""
