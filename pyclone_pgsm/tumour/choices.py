"""The values that the hyperparameters of the tumour model can take, and their priors."""

import math

import numpy as np

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.likelihoods.choice import Choice

REAL_PRECISIONS = 50.0, 9000.0
"""Range of the precisions of real tumours' reads. Where a smaller one was inferred, different clusters had been merged
(docs/overdispersion.md)."""
_FINITE = tuple(10.0 ** (exponent / 16.0) for exponent in range(24, 81))
_MIDDLE = math.log(REAL_PRECISIONS[0] * REAL_PRECISIONS[1]) / 2.0
_SPREAD = math.log(REAL_PRECISIONS[1] / REAL_PRECISIONS[0]) / (2.0 * 1.96)
_WEIGHTS = tuple(math.exp(-0.5 * ((math.log(precision) - _MIDDLE) / _SPREAD) ** 2) for precision in _FINITE)
PRECISION = Choice((*_FINITE, math.inf), (*_WEIGHTS, sum(_WEIGHTS)), 1000.0, (1, 1, 2, 4), 0.5)
"""31.6 to 100,000 in steps of 15 %, about the posterior standard deviation given a few hundred mutations, and infinity.
Half of the prior is on infinity, the binomial. The other half is log-normal, with 95 % between `REAL_PRECISIONS`."""
_PREFERRED = (
    1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0
)  # fmt: skip
_SMALL_RATES = 1e-5, 2e-5, 5e-5
_RATES = (*(round(number * unit, 8) for unit in (1e-4, 1e-3) for number in _PREFERRED), 1e-2)
REAL_ERROR_RATES = 1e-5, 3e-3
"""Range of the rates at which reads show one certain wrong base: from consensus reads of molecular identifiers to bases
of the lowest quality that callers usually accept, Phred 20, of whose errors a third are to this base."""


def _error_rates(rates: tuple[float, ...]) -> Choice:
    """Return the choice among these rates; the prior is log-normal, with 95 % between :data:`REAL_ERROR_RATES`."""
    logs = np.log(rates)
    low, high = np.log(REAL_ERROR_RATES)
    scores = (logs - (low + high) / 2.0) / ((high - low) / (2.0 * 1.96))
    masses = np.exp(-0.5 * scores**2) * np.gradient(logs)
    return Choice(rates, tuple(masses.tolist()), 1e-3, (1, 1, 2, 4), 0.5)


ERROR_RATE = _error_rates((*_SMALL_RATES, *_RATES[::2]))
FINE_ERROR_RATE = _error_rates((*_SMALL_RATES, *_RATES))
"""0.0001 to 0.01 by preferred numbers (ISO 3), in steps of 26 % (R10) and of 12 % (R20); and three smaller rates. If
the smallest were 0.0001, small prevalences would be too low where reads have no errors."""
MANY_MUTATIONS = 1000
"""With more mutations the finer error rates are used."""
CONTENT_JUMPS = (1, 1, 1, 2, 4)


def error_rate_choice(num_mutations: int) -> Choice:
    """Return the choice of an error rate that is not given.

    Many mutations distinguish rates that differ by a tenth, so that chains would get stuck on a coarse grid. With fewer
    mutations the grid is coarse, because each rate that a chain visits needs tables.
    """
    return FINE_ERROR_RATE if num_mutations > MANY_MUTATIONS else ERROR_RATE


def content_choice(content: Uncertain) -> Choice:
    """Return the choice of a tumour content with a known distribution; it starts at the mean."""
    return Choice(*content.grid(), content.mean, CONTENT_JUMPS)
