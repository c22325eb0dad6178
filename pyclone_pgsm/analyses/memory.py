"""Memory that a run will need, estimated from data and settings before it begins.

The peak is the memory that all steps share (the program, the data, the tables of the likelihood) plus the larger of
what the chains and the summary need. T is the number of observations.
"""

import math
from typing import NamedTuple

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.machine import available, shown
from pyclone_pgsm.posterior.summarize import CONSENSUS_DRAWS, LABEL_BYTES
from pyclone_pgsm.samplers.initial import RANDOM_CLUSTERS, is_file
from pyclone_pgsm.sampling.settings import APART, MANY, MOST_ALONE, Settings
from pyclone_pgsm.trace.options import Dataset

MEGABYTE = 1 << 20
PROGRAM = 300 * MEGABYTE
"""Python, its libraries, and compiled code."""
PICTURES = 90 * MEGABYTE


class Estimate(NamedTuple):
    """Bytes that the parts of a run need at its peak: program, data and tables of the likelihood are needed throughout.

    `blocks` and `particles` are the statistics of the blocks of all chains that run at the same time, and of their
    particles' blocks; `labels` partitions that wait to be written, or are read for the summary; `summary` is for the
    parameters of the clusters while they are averaged, and for pictures.
    """

    program: int
    data: int
    tables: int
    blocks: int
    particles: int
    labels: int
    summary: int

    @property
    def total(self) -> int:
        """Bytes at the peak; the chains have ended when the summary begins."""
        throughout = self.program + self.data + self.tables + self.labels
        return throughout + max(self.blocks + self.particles, self.summary)


def estimate(data: Dataset, settings: Settings, threads: int, stat_size: int | None = None) -> Estimate:
    """Estimate the memory of a run with resolved settings and `threads` chains at the same time.

    `stat_size` is the length of a block's statistic; None: that of the package's own likelihoods.
    """
    T = len(data.names)
    needed = ANALYSES[data.kind].footprint(data)
    size = 8 * (needed.stat_size if stat_size is None else stat_size)
    clusters = min(T, math.ceil(math.log2(T + 1)) + 1)
    start = _clusters_at_start(settings.start, T)
    # until a rebuild is done, there are two statistics of each block
    blocks = threads * max(start, min(2 * clusters, T)) * size
    s = settings.anchors
    pool = min(s * settings.particles + 8, s * T) if settings.has_particles else 0
    found = math.ceil(math.log2(T + 1) / 4)
    return Estimate(
        program=PROGRAM,
        data=needed.data,
        tables=needed.tables,
        blocks=blocks,
        particles=threads * pool * size // 3,  # about a third of the pool is ever in use
        labels=min(LABEL_BYTES, CONSENSUS_DRAWS * T * 2) + settings.chains * T * 16,
        summary=PICTURES + (8 * found + 5) * needed.described * 8,
    )


def in_processes(needed: Estimate, number: int) -> Estimate | None:
    """Return what a run needs in so many processes, each with tables of its own; None if that is not available."""
    copied = needed._replace(tables=number * needed.tables)
    there = available()
    return copied if there is None or copied.total <= there else None


def _clusters_at_start(init: str, T: int) -> int:
    if init == APART:
        return T if T <= MOST_ALONE else MANY
    if init == "disconnected":
        return T
    if is_file(init) or init == "single":
        return 1
    return min(T, int(init.partition(":")[2] or RANDOM_CLUSTERS))


def check_memory(needed: Estimate) -> None:
    """Raise UsageError if a run needs more memory than available; the message tells how to reduce the largest part."""
    there = available()
    if there is None or needed.total <= there:
        return
    part, size = max(needed._asdict().items(), key=lambda item: item[1])
    what, remedy = _PARTS[part]
    raise UsageError(
        f"this run needs about {shown(needed.total)} of memory, {shown(size)} of it for {what}, and {shown(there)} "
        f"are available: {remedy}, or use a larger machine"
    )


_CHAINS = "run fewer chains at a time (`threads` 1), start with fewer clusters (`init` single), or leave columns out"
_PARTS = {
    "program": ("the program", "end other programs"),
    "data": ("the data", "leave out mutations, samples or columns"),
    "tables": (
        "the tables of the likelihood",
        "give a coarser grid (`grid_size`), a fixed `precision` and `error_rate`, or leave columns out",
    ),
    "blocks": ("the clusters of the chains", _CHAINS),
    "particles": ("the particles", f"give fewer `particles`, {_CHAINS}"),
    "labels": ("the saved partitions", "leave out rows"),
    "summary": (
        "the parameters of the clusters",
        "leave columns out, or reduce them to fewer, such as principal components",
    ),
}
"""Description of each part of an estimate, and how to reduce it."""
