"""The protocol for what differs between kinds of data; each kind is one class, registered in :mod:`~.kinds`.

Each kind has two more classes in the layers below, with the same ``kind``: the data as a trace stores them, with names,
options and model (:class:`~pyclone_pgsm.trace.options.Dataset`), and the summary of their draws, made by a
:class:`~pyclone_pgsm.posterior.summarize.Summariser`. All other code is independent of the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import pandas as pd

from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.options import Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pyclone_pgsm.report.content import Content, Page


class Footprint(NamedTuple):
    """Memory that data of one kind need: bytes of the `data` and of the `tables` of the likelihood.

    `stat_size` is how many numbers the statistic of a block has, for the package's own likelihoods, and `described` how
    many describe a cluster while the parameters of the clusters are averaged.
    """

    data: int
    tables: int
    stat_size: int
    described: int


class Analysis(Protocol):
    """Presentation of results for data of one kind, and the memory that the data need.

    `files` are the names of the files of an output folder, except its pages and pictures.
    """

    kind: ClassVar[str]
    files: ClassVar[tuple[str, ...]]

    def footprint(self, data: Any) -> Footprint:
        """Estimate the memory that the data need."""

    def named_options(self, options: Options) -> str:
        """Return the options that determine the likelihood, with their values, for a message."""

    def tables(self, trace: Trace, summary: Any) -> dict[str, pd.DataFrame]:
        """Return the tables of a result, by file name."""

    def pictures(self, trace: Trace, result: Findings[Any]) -> Callable[[], dict[str, Callable[[], Figure]]]:
        """Read what the pictures need; the function that is returned reads no file.

        It returns the functions that draw the pictures, by name.
        """

    def page(self, content: Content) -> Page:
        """Return the sections of the report and its pictures."""

    def numbers(self, summary: Any) -> dict[str, dict[str, float]]:
        """Return the numbers for MultiQC, of each sample and of the whole result (``""``)."""

    def counts(self, trace: Trace, summary: Any) -> dict[str, int]:
        """Return the numbers of things read and found, for ``run.json``."""

    def choices(self, summary: Any) -> dict[str, Any]:
        """Return the options of the summary, for ``run.json``; none by default."""
        return {}

    def lines(self, result: Findings[Any]) -> list[str]:
        """Return lines for the terminal: the clusters, and what else was inferred."""
