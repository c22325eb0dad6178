"""Genotype priors and the Xi grid: the PyClone model before any clustering."""
