"""Whatever a user has → `Observations`, and what was left out and why."""
