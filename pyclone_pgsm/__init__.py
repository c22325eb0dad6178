"""pyclone-pgsm: exact Bayesian clustering of tumour mutations by Particle Gibbs Split-Merge sampling."""

__version__ = "0.1.0"
