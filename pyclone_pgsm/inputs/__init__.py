"""Readers of all files that a user gives: what was read, and what was left out and why."""
