"""Whole analyses: what the commands do."""
