"""A tumour model in which some mutations are outliers: artefact calls, which belong to no cluster.

Each of T mutations is an outlier with probability p, independently, whatever its block in the partition of all T. The
reads of the others follow the model. Those of an outlier arise in one of two ways, with equal probability:

* like those of a mutation on its own, whose prevalence in each sample is not shared and is uniform;
* unlike those of any mutation: the share of variant reads is uniform in each sample, so that all numbers of variant
  reads from 0 to the depth n are equally likely, 1 / (n + 1).

The first resembles most artefacts. Only the second explains shares that no prevalence gives, such as 0.7 where tumour
content and copy numbers allow at most 0.4; otherwise all reads would have to be overdispersed to fit them.

The sampler sees an outlier as a mutation without data in any sample, so that all its moves work unchanged;
:mod:`pyclone_pgsm.samplers.outliers` draws which mutations are outliers. The Dirichlet process, the Pitman-Yor process
and the finite Dirichlet prior are consistent when observations are removed: given the outliers, the partition of the
others has the same prior as if there were only those mutations.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.model import Values
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import Partition, PartitionPrior
from pyclone_pgsm.samplers.outliers import resample_outliers
from pyclone_pgsm.tumour.model import PyCloneModel


def log_any_share(observations: Observations) -> NDArray[np.float64]:
    """Return the log probability of each mutation's reads, (T,), if the share of variant reads is uniform."""
    return -np.log1p(np.where(observations.has_data, observations.depth, 0)).sum(axis=1)


def _log_alone(likelihood: PyClone) -> NDArray[np.float64]:
    """Return the log probability of each mutation's reads, (T,), with a prevalence of its own in each sample."""
    of_rows = np.append(likelihood.log_mean + likelihood.xi_max, 0.0)  # the last is for no data
    return of_rows[likelihood.index].sum(axis=1)


class TumourWithOutliers(PyCloneModel):
    """The model given which mutations are outliers, (T,): at first none, others with :meth:`given`.

    `model` is that of the other mutations, whose tables are shared, `prob` is p, in (0, 1), and `log_any` comes from
    :func:`log_any_share`.
    """

    def __init__(self, model: PyCloneModel, prob: float, log_any: NDArray[np.float64]) -> None:
        vars(self).update(vars(model))
        self.prob = prob
        self._log_any = log_any
        self.outliers: NDArray[np.bool_] = np.zeros(model.num_observations, bool)

    def given(self, outliers: NDArray[np.bool_]) -> TumourWithOutliers:
        other = copy(self)
        other.outliers = outliers
        return other

    def full_likelihood(self, values: Values) -> PyClone:
        return super().likelihood(values)

    def likelihood(self, values: Values) -> PyClone:
        """Return the likelihood without the data of the outliers."""
        full = self.full_likelihood(values)
        index = full.index.copy()
        index[self.outliers] = -1
        return full._replace(index=index, log_alone=np.where(self.outliers, 0.0, full.log_alone))

    def log_outlier(self, values: Values) -> NDArray[np.float64]:
        """Return log L'(y_i), (T,), of each mutation's reads as those of an outlier, with all constants."""
        alone = _log_alone(self.full_likelihood(values))
        return np.logaddexp(alone, self._log_any) - math.log(2.0)

    def log_weights(self, values: Values) -> NDArray[np.float64]:
        """Return log of p / (1 - p) L'(y_i), (T,), omitting the same factors as the likelihood."""
        left_out = self.full_likelihood(values).log_constants()
        return math.log(self.prob) - math.log1p(-self.prob) + self.log_outlier(values) - left_out

    def log_hyperprior(self, values: Values) -> float:
        """Return log p(values) p(outliers) p(reads of the outliers; values), the last with all constants."""
        number = int(self.outliers.sum())
        return (
            super().log_hyperprior(values)
            + number * math.log(self.prob)
            + (self.num_observations - number) * math.log1p(-self.prob)
            + float(self.log_outlier(values)[self.outliers].sum())
        )

    def rows_and_points(
        self, likelihood: PyClone, points: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Add reads of outliers that arise like those of a mutation on its own, at prevalences drawn for it."""
        full = likelihood._replace(index=self.index)
        alone = self.outliers & (rng.random(len(self.outliers)) < expit(_log_alone(full) - self._log_any))
        points = points.copy()
        weights = (full.likelihood[full.index[alone]] * self.uniform_masses).cumsum(axis=2)
        limit = rng.random((*weights.shape[:2], 1)) * weights[:, :, -1:]
        points[alone] = np.argmax(weights > limit, axis=2)
        return np.where(alone[:, None], full.index, likelihood.index), points

    def draw_outliers(
        self, values: Values, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[TumourWithOutliers, Partition]:
        likelihood = self.full_likelihood(values)
        outliers = self.outliers.copy()
        sweep = compiled_for(resample_outliers, type(likelihood))
        partition, _ = sweep(
            likelihood, prior, partition, outliers, self.log_weights(values), self.order, rng
        )
        return self.given(outliers), partition

    def log_densities_of_either(self, values: Values, log_member: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.logaddexp(
            math.log1p(-self.prob) + log_member, math.log(self.prob) + self.log_outlier(values)
        )

    def effective(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        alone = labels.max() + 1 + np.arange(len(labels))
        return canonical(np.where(self.outliers, alone, labels))
