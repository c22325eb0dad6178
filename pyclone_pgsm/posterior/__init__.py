"""Consensus partition, prevalences and their intervals, diagnostics of the chains."""
