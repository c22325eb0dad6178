"""Merging the chains of several traces into one."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.files import replacing
from pyclone_pgsm.locks import writing
from pyclone_pgsm.trace.options import RunOptions
from pyclone_pgsm.trace.reader import Trace
from pyclone_pgsm.trace.schema import datasets_of_chain
from pyclone_pgsm.trace.writer import append, create_chain, new_file, write_config, write_state


def merge_traces(paths: Sequence[Path], out: Path, command: str = "") -> int:
    """Merge the chains of several runs on the same data into one trace, and return their number.

    `command` is stored after the commands of the traces. TraceError if a trace cannot be read, its data or options
    differ from those of the first, or a seed occurs twice; OutputError if the new trace cannot be written.
    """
    if not paths:
        raise TraceError("no trace to merge")
    with ExitStack() as opened:
        traces = [opened.enter_context(Trace(path)) for path in paths]
        _check_mergeable(traces)
        with writing(out), replacing(out) as temporary:
            return _write_merged(traces, temporary, command)


def _check_mergeable(traces: Sequence[Trace]) -> None:
    seen: dict[int, Path] = {}
    for trace in traces:
        trace.check()
        _check_same(traces[0], trace)
        for seed in sorted(set(trace.seeds)):
            if seed in seen:
                raise TraceError(
                    f"{trace.path}: its seed {seed} is also that of {seen[seed]}: run it with another `seed`"
                )
            seen[seed] = trace.path


def _write_merged(traces: Sequence[Trace], out: Path, command: str) -> int:
    first, count = traces[0], 0
    counted = {trace.options.moves for trace in traces}
    # one trace cannot store counts of different moves, or of a version without counts
    moves = counted.pop() if len(counted) == 1 else ()
    with new_file(out) as merged:
        first.data.write(merged.create_group("data"))
        chains = merged.create_group("chains")
        for trace in traces:
            options = replace(trace.options, moves=moves)
            names = datasets_of_chain(trace.data, options)
            for k, state in enumerate(trace.states()):
                chain = create_chain(chains, str(count), trace.data, options, trace.seeds[k])
                for rows in trace.blocks_of_rows(k):
                    append(chain, {name: trace.rows_of(k, name, rows) for name in names})
                write_state(chain, state)
                count += 1
        every = [trace.options.settings for trace in traces]
        settings = replace(
            every[0],
            chains=count,
            iterations=max(each.lengths[0] for each in every),
            max_iterations=max((each.max_iterations for each in every if each.max_iterations), default=None),
            max_time=None,
            init=every[0].init if len({each.init for each in every}) == 1 else None,
        )
        # whether chains have converged is checked again for all together
        stopped = first.options.stopped if len(traces) == 1 else None
        options = replace(first.options, settings=settings, moves=moves, stopped=stopped)
        commands = [*(trace.command for trace in traces), command]
        write_config(merged, options, "\n".join(filter(None, commands)), first.version)
    return count


def _must_agree(options: RunOptions) -> dict[str, Any]:
    """Return what merged traces must have in common; initial values of resampled hyperparameters may differ."""
    prior = {"name": None, **options.prior}
    resampled = {"concentration": prior.get("shape") is not None, "discount": prior.get("infer_discount")}
    for name, is_resampled in resampled.items():
        if is_resampled:
            prior[name] = "resampled"
    settings = options.settings
    return {
        **options.model.to_dict(),
        **{f"the prior's {name}": value for name, value in prior.items()},
        "iterations": "auto" if settings.until_converged else settings.iterations,
        "iterations at the start": "auto" if settings.watch else "a number",
        "burn_in": None if settings.until_converged else settings.burn_in,
        "thin": settings.thin,
        "anchor_proposal": settings.proposal,
    }


def _check_same(first: Trace, trace: Trace) -> None:
    (names, arrays), (other_names, others) = first.data.compared, trace.data.compared
    is_same = first.data.kind == trace.data.kind and names == other_names
    if not is_same or not all(np.array_equal(*pair, equal_nan=True) for pair in zip(arrays, others)):
        raise TraceError(f"{trace.path}: its data differ from those of {first.path}")
    mine, its = _must_agree(first.options), _must_agree(trace.options)
    for name in mine | its:
        if mine.get(name) != its.get(name):
            both_fixed = name == "iterations" and "auto" not in (mine[name], its[name])
            advice = ": resume the shorter one to as many" if both_fixed else ""
            raise TraceError(
                f"{trace.path}: {name} {its.get(name)!r} differs from {mine.get(name)!r} of {first.path}{advice}"
            )
