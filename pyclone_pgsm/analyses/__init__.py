"""Whole analyses, as the commands run them."""
