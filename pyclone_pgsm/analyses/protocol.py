"""What differs between kinds of data, in one protocol; each kind is one class, registered in :mod:`~.kinds`.

Two more classes of each kind lie in the layers below, under the same name ``kind``: the data as a trace stores them,
with names, options and model (:class:`~pyclone_pgsm.trace.dataset.Dataset`), and the summary of their draws, which a
:class:`~pyclone_pgsm.posterior.summarize.Summariser` makes. All else of a run knows of no kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

import pandas as pd

from pyclone_pgsm.posterior.summarize import Result
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.dataset import ModelOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pyclone_pgsm.posterior.traces import Traces
    from pyclone_pgsm.report.content import Content, Page

Data = TypeVar("Data", contravariant=True)
Summary = TypeVar("Summary", contravariant=True)


class Footprint(NamedTuple):
    """Memory that data of one kind need.

    Attributes
    ----------
    data, tables : int
        Bytes of what was read, and of the tables of the likelihood.
    stat_size : int
        Numbers in the statistic of a block, as the package's own likelihoods have it.
    described : int
        Numbers that describe a cluster while the parameters of the clusters are averaged.
    """

    data: int
    tables: int
    stat_size: int
    described: int


class Analysis(Protocol[Data, Summary]):
    """How data of one kind are shown, and what they need.

    Attributes
    ----------
    kind : str
    files : tuple of str
        Names of the files of an output folder, without the pictures.
    """

    kind: ClassVar[str]
    files: ClassVar[tuple[str, ...]]

    def footprint(self, data: Data) -> Footprint:
        """The memory that the data need."""

    def named_options(self, options: ModelOptions) -> str:
        """The options that decide on the likelihood, with their values, for a message."""

    def tables(self, trace: Trace, summary: Summary) -> dict[str, pd.DataFrame]:
        """The tables of a result, by the names of their files."""

    def pictures(
        self, trace: Trace, result: Result[Summary], traces: Traces, burn_in: int | None
    ) -> dict[str, Callable[[], Figure]]:
        """What draws each picture of a result, by name; nothing of the trace is read when they are drawn."""

    def page(self, content: Content) -> Page:
        """The sections of the report, its pictures, and numbers for MultiQC."""

    def counts(self, trace: Trace, summary: Summary) -> dict[str, int]:
        """How much was read and found, for ``run.json``."""

    def choices(self, summary: Summary) -> dict[str, Any]:
        """What was chosen for the summary, for ``run.json``; nothing by default."""
        return {}

    def lines(self, result: Result[Summary], left_out: int) -> list[str]:
        """What was clustered and found, and what was inferred besides the clusters: lines for the terminal."""
