"""The draws that a summary is made from, and what each kind of data must be able to do with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.trace import Trace


@dataclass(frozen=True)
class Draws:
    """Saved partitions of a trace, of every chain as many as its weight says.

    Attributes
    ----------
    trace : Trace
    rows : list of (n,) int64
        Rows of each chain.
    partitions : (M, T) integers
        Of some of the rows, evenly spaced: those that the consensus is made from.
    outlier_prob : (T,) float64
        Share of these in which each observation is an outlier; 0 without outliers.
    """

    trace: Trace
    rows: list[NDArray[np.int64]]
    partitions: NDArray[Any]
    outlier_prob: NDArray[np.float64]


S = TypeVar("S")


class Summariser(Protocol[S]):
    """What is special to one kind of data when its draws are summarised.

    Attributes
    ----------
    observation : str
        What is clustered, for messages.
    """

    observation: ClassVar[str]

    def summarise(self, draws: Draws, labels: NDArray[np.int64], thresholds: Thresholds) -> S:
        """The summary of clusters.

        Parameters
        ----------
        draws : Draws
        labels : (T,) int64
            Consensus clusters 0..K-1 in any order, -1 of outliers.
        thresholds : Thresholds
            Of presence and clonality, for data that have prevalences.
        """
        ...

    def doubts(self, draws: Draws, summary: S) -> list[str]:
        """Warnings that only data of this kind have."""
        ...
