"""Readers of all input files: their content, and what was left out and why."""
