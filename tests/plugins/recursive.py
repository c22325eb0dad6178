"""Run by the tests in processes of their own: numbers from likelihoods, by a function that cannot be inlined.

    python recursive.py FOLDER MODULE ...

Prints for the class PoissonGamma of each module in the folder three times the prior predictive of a count of 3, and
whether its machine code was found on disk.
"""

import importlib
import json
import sys

import numpy as np
from numba import njit

import pyclone_pgsm.likelihoods.contract  # noqa: F401  (makes methods of NamedTuples compile)
from pyclone_pgsm.jit.compiling import compiled_for


@njit
def repeated(likelihood, times):
    return 0.0 if times == 0 else likelihood.log_prior_predictive(0) + repeated(likelihood, times - 1)


def sum_up(likelihood, times):
    return repeated(likelihood, times)


sys.path.insert(0, sys.argv[1])
results = []
for module in sys.argv[2:]:
    kind = importlib.import_module(module).PoissonGamma
    function = compiled_for(sum_up, kind)
    value = function(kind.from_data(np.array([[3.0], [1.0]])), 3)
    results.append((value, bool(function.stats.cache_hits)))
print(json.dumps(results))
