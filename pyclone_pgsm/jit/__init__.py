"""How likelihoods reach compiled code, and where that is kept."""
