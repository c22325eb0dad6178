"""Run by the tests in processes of their own: what a likelihood makes of the first half against the second.

    python score.py pyclone|FILE:CLASS

Prints the log likelihood of the two blocks, and how often machine code was found on disk and how often not.
"""

import json
import sys

import numpy as np

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.registry import find_likelihood
from pyclone_pgsm.partition import build_partition, log_likelihood

kind = find_likelihood(sys.argv[1])
if sys.argv[1] == "pyclone":
    from pyclone_pgsm.likelihoods.pyclone import make_pyclone

    xi = np.zeros((1, 3))
    likelihood = make_pyclone(np.zeros((4, 1), np.int32), xi, np.exp(xi), np.zeros(1))
else:
    likelihood = kind.from_data(np.array([[3.0], [1.0], [7.0], [12.0]]), shape=1.0, rate=0.3)

build = compiled_for(build_partition, kind)
score = compiled_for(log_likelihood, kind)
value = score(likelihood, build(likelihood, np.array([0, 0, 1, 1], np.int32)))
found = [sum(f.stats.cache_hits.values()) for f in (build, score)]
missed = [sum(f.stats.cache_misses.values()) for f in (build, score)]
print(json.dumps({"value": value, "found": found, "missed": missed}))
