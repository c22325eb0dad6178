"""The draws so far, as far as the convergence rule needs them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.sampling.chain import Records
from pyclone_pgsm.sampling.convergence import ChainDraws, Rule, pairs_of, summaries_of

SUMMARIES = "entropy", "largest_share"


class Monitor:
    """Collects the quantities of each saved iteration that the rule needs.

    `names` are those of the hyperparameters: of the partition prior, then of the likelihood. Each chain must be given
    rows, which may be none, before :meth:`draws` is called.
    """

    def __init__(self, num_observations: int, chains: int, names: Sequence[str], rule: Rule) -> None:
        self.names = names
        self.rule = rule
        self._pairs = pairs_of(num_observations)
        self._parts: list[list[ChainDraws]] = [[] for _ in range(chains)]

    def add(self, chain: int, records: Records) -> None:
        """Add a segment of a chain."""
        if records.iteration:
            values = [(*prior, *others) for prior, others in zip(records.prior_values, records.values)]
            series = dict(zip(self.names, np.array(values, float).T))
            series |= {
                "log_joint": np.array(records.log_joint),
                "num_clusters": np.array(records.num_clusters),
            }
            self.add_rows(
                chain,
                np.array(records.iteration),
                series,
                np.array(records.labels),
                np.array(records.watched, np.float32).reshape(len(records.iteration), -1),
            )

    def add_rows(
        self,
        chain: int,
        iteration: NDArray[np.int64],
        series: dict[str, NDArray[np.float64]],
        labels: NDArray[np.integer],
        watched: NDArray[np.float32],
    ) -> None:
        """Add n saved iterations, with labels (n, T) and watched quantities (n, W)."""
        of_labels = np.array([summaries_of(row) for row in labels]).reshape(-1, len(SUMMARIES)).T
        ordered = {name: np.asarray(series[name], float) for name in ("log_joint", "num_clusters")}
        ordered |= dict(zip(SUMMARIES, of_labels))
        ordered |= {name: np.asarray(series[name], float) for name in self.names}
        together = labels[:, self._pairs[:, 0]] == labels[:, self._pairs[:, 1]]
        self._parts[chain].append(ChainDraws(iteration, ordered, watched, together))

    def draws(self) -> list[ChainDraws]:
        """Return the draws of each chain."""
        for parts in self._parts:
            parts[:] = [_joined(parts)]
        return [parts[0] for parts in self._parts]


def _joined(parts: Sequence[ChainDraws]) -> ChainDraws:
    """Join several segments; iterations that were drawn twice, with equal results, count once."""
    iteration = np.concatenate([part.iteration for part in parts])
    rows = np.unique(iteration, return_index=True)[1]
    return ChainDraws(
        iteration,
        {name: np.concatenate([part.series[name] for part in parts]) for name in parts[0].series},
        np.concatenate([part.watched for part in parts]),
        np.concatenate([part.together for part in parts]),
    ).at(rows)
