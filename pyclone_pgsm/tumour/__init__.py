"""PyClone's model of a tumour: genotype priors, likelihoods on the grid, and hyperparameters."""
