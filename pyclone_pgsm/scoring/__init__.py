"""Scores of clusters and prevalences against a known truth."""
