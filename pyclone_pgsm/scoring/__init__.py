"""How well clusters and prevalences agree with a known truth."""
