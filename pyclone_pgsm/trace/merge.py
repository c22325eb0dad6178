"""Putting chains of several traces into one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.files import replacing
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.locks import writing
from pyclone_pgsm.models import Data, DataMatrix, names_of
from pyclone_pgsm.trace.options import OUTLIERS, RunOptions
from pyclone_pgsm.trace.reader import Trace
from pyclone_pgsm.trace.schema import FORMAT, MATRICES, SERIES, dataset_name
from pyclone_pgsm.trace.writer import append, create_chain, new_file, write_config, write_data, write_state


def merge_traces(paths: Sequence[Path], out: Path) -> int:
    """Put the chains of several runs on the same data into one trace.

    Parameters
    ----------
    paths : sequence of Path
        Traces with the same data and model; seeds must differ.
    out : Path

    Returns
    -------
    int
        Number of chains.

    Raises
    ------
    TraceError
        A trace cannot be read, or they do not belong together.
    OutputError
        The new one cannot be written.
    """
    if not paths:
        raise TraceError("no trace to merge")
    for path in paths:  # what is no trace is refused before a folder is made
        Trace(path).close()
    with writing(out), replacing(out) as temporary:
        count = _write_merged(paths, temporary)
    return count


def renew(path: Path) -> None:
    """Give a trace of an older format the newest."""
    with Trace(path) as trace:
        is_old = trace.format != FORMAT
    if is_old:
        merge_traces([path], path)


def _write_merged(paths: Sequence[Path], out: Path) -> int:
    seen: dict[int, Path] = {}
    count = 0
    with Trace(paths[0]) as first, new_file(out) as merged:
        write_data(merged, first.data, first.left_out, first.options)
        chains = merged.create_group("chains")
        for path in paths:
            with Trace(path) as trace:
                trace.check()
                _check_same(paths[0], first.options, first.data, path, trace)
                _note_seeds(path, trace.seeds, seen)
                for k in range(len(trace.chains)):
                    _copy_chain(trace, k, chains, str(count))
                    count += 1
        options = replace(first.options, settings=replace(first.options.settings, chains=count))
        write_config(merged, options, first.command, first.version)
    return count


def _note_seeds(path: Path, seeds: Iterable[int], seen: dict[int, Path]) -> None:
    for seed in sorted(seeds & seen.keys()):
        raise TraceError(f"{path}: its seed {seed} is also that of {seen[seed]}: run it with another --seed")
    seen |= dict.fromkeys(seeds, path)


def _copy_chain(trace: Trace, k: int, chains: h5py.Group, name: str) -> None:
    options, source = trace.options, trace.chains[k]
    chain = create_chain(chains, name, len(names_of(trace.data)), options, trace.seed_of(k))
    for rows in trace.blocks_of_rows(k):
        columns: dict[str, Any] = {"labels": trace.labels(k, rows)}
        if options.has_outliers:
            columns[OUTLIERS] = trace.outliers(k, rows)
        columns |= {series: getattr(source, series)[rows] for series in SERIES}
        columns |= {dataset_name(series): source.hyperparameters[series][rows] for series in options.traced}
        append(chain, columns)
    write_state(chain, trace.states()[k])


def _same_data(one: Data, other: Data) -> bool:
    if isinstance(one, Observations) and isinstance(other, Observations):
        return (
            one.mutation_ids == other.mutation_ids
            and one.sample_ids == other.sample_ids
            and all(
                np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in MATRICES
            )
        )
    if isinstance(one, DataMatrix) and isinstance(other, DataMatrix):
        return (
            one.row_names == other.row_names
            and one.column_names == other.column_names
            and np.array_equal(one.values, other.values)
        )
    return False


def _must_agree(options: RunOptions) -> dict[str, Any]:
    """What traces that are merged must have in common; the start of what is resampled need not be."""
    prior = {"name": None, **options.prior}
    resampled = {"concentration": prior.get("shape") is not None, "discount": prior.get("infer_discount")}
    for name, is_resampled in resampled.items():
        if is_resampled:
            prior[name] = "resampled"
    settings = options.settings
    return {
        **options.model,
        **{f"the prior's {name}": value for name, value in prior.items()},
        "iterations": settings.iterations,
        "burn_in": settings.burn_in,
        "thin": settings.thin,
        "anchor_proposal": settings.proposal,
    }


def _check_same(first: Path, options: RunOptions, data: Data, path: Path, trace: Trace) -> None:
    if not _same_data(data, trace.data):
        raise TraceError(f"{path}: its data differ from those of {first}")
    mine, its = _must_agree(options), _must_agree(trace.options)
    for name in mine | its:
        if mine.get(name) != its.get(name):
            raise TraceError(f"{path}: {name} {its.get(name)!r} differs from {mine.get(name)!r} of {first}")
