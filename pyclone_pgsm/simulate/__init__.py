"""Simulated tumours with a known truth."""
