"""The likelihood of read counts in tumours, and the statistic that it keeps of a block."""

from pyclone_pgsm.likelihoods.pyclone.base_measure import change_base, component_probabilities
from pyclone_pgsm.likelihoods.pyclone.coarse_grid import Lattice, posterior_lattice
from pyclone_pgsm.likelihoods.pyclone.likelihood import (
    BaseMeasure,
    PyClone,
    make_pyclone,
    mix_base,
    with_base,
)

__all__ = [
    "BaseMeasure",
    "Lattice",
    "PyClone",
    "change_base",
    "component_probabilities",
    "make_pyclone",
    "mix_base",
    "posterior_lattice",
    "with_base",
]
