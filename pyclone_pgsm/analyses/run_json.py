"""Content of ``run.json``, and what is read from it."""

import json
import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pyclone_pgsm import __version__
from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.analyses.memory import MEGABYTE, Estimate, estimate
from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.posterior.rows import kept_rows
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.sampling.chains import effective_threads
from pyclone_pgsm.sampling.convergence import COCLUSTERING_LIMIT, ESS_LIMIT, RHAT_LIMIT, Verdict
from pyclone_pgsm.sampling.moves import COUNTS
from pyclone_pgsm.sampling.settings import start_of
from pyclone_pgsm.trace import Trace

REASONS = {"nan": "undefined", "inf": "infinite", "-inf": "minus infinite"}
DEPENDENCIES = ("numpy", "scipy", "pandas", "numba", "h5py", "matplotlib", "bokeh")


def _rounded(value: float) -> float:
    """Return a number with six digits."""
    return float(f"{value:.6g}")


def _numbers(record: object, *names: str) -> dict[str, float]:
    """Return attributes of an object by name, with six digits."""
    return {name: _rounded(getattr(record, name)) for name in names}


def without_special_numbers(value: Any) -> Any:
    """Return what JSON can hold: null for infinite and undefined numbers, with the reason beside it.

    An object with such numbers gains a member ``null_because``, with the reason by the name of each.
    """
    if isinstance(value, dict):
        found = {name: without_special_numbers(each) for name, each in value.items()}
        reasons = {name: REASONS[str(each)] for name, each in value.items() if _is_special(each)}
        return found | ({"null_because": reasons} if reasons else {})
    if isinstance(value, list | tuple):
        return [without_special_numbers(each) for each in value]
    return None if _is_special(value) else value


def _is_special(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _convergence(verdict: Verdict) -> dict[str, Any]:
    """Return the limits of the convergence rule, and the quantities compared with them."""
    return {
        "iterations": verdict.iterations,
        "burn_in": verdict.burn_in,
        "limits": {
            "rhat": RHAT_LIMIT,
            "bulk_ess": ESS_LIMIT,
            "tail_ess": ESS_LIMIT,
            "coclustering_sd": COCLUSTERING_LIMIT,
        },
        "coclustering_sd": _rounded(verdict.coclustering_sd),
        "quantities": {
            quantity.name: {
                **_numbers(quantity, "rhat", "bulk_ess", "tail_ess"),
                "asked": quantity.is_required,
                "holds": quantity.holds,
            }
            for quantity in verdict.quantities
        },
    }


def _starts(trace: Trace) -> list[str] | None:
    """Return the start of each chain, which depends on its number in its own run; None if merged runs differ in it."""
    options, T = trace.options, len(trace.data.names)
    init, most = options.settings.init, options.first_prior.max_blocks(T)
    if init is None:
        return None
    return [start_of(k - trace.seeds.index(seed), init, T, most) for k, seed in enumerate(trace.seeds)]


def run_report(
    trace: Trace,
    result: Findings[Any],
    command: str,
    timings: Mapping[str, float],
    memory: Estimate | None = None,
) -> dict[str, Any]:
    """Return the content of ``run.json``.

    `command` are the commands that made the result, one a line, `timings` the seconds that its steps took. `memory` is
    that of the run; None: estimated with one thread for each processor.
    """
    options = trace.options
    analysis = ANALYSES[trace.data.kind]
    rows = kept_rows(trace, result.burn_in)
    counts = np.concatenate([chain.moves[kept] for chain, kept in zip(trace.chains, rows)]).sum(axis=0)
    memory = memory or estimate(trace.data, options.settings, effective_threads(None, len(trace.chains)))
    sizes = {"total": memory.total, **memory._asdict()}
    report = {
        "program": "pyclone-pgsm",
        "version": __version__,
        "command": command,
        "seed": options.settings.seed,
        "seeds": sorted(set(trace.seeds)),
        "options": json.loads(options.to_json()),
        "consensus": result.criterion,
        "burn_in": result.burn_in,
        **analysis.choices(result.summary),
        "counts": {
            **analysis.counts(trace, result.summary),
            "chains": len(trace.chains),
            "saved_iterations": [len(kept) for kept in rows],
        },
        "stopped": options.stopped,
        "converged": result.convergence.converged,
        "convergence": _convergence(result.convergence),
        "starts": _starts(trace),
        "diagnostics": {
            each.name: {
                "median" if each.name in options.hyperparameters else "mean": _rounded(each.mean),
                **_numbers(each, "lower", "upper", "rhat", "ess"),
            }
            for each in result.diagnostics
        },
        "moves": {name: dict(zip(COUNTS, row)) for name, row in zip(options.moves, counts.tolist())},
        "chain_weights": [_rounded(weight) for weight in result.chain_weights.tolist()],
        "warnings": result.warnings,
        "seconds": {
            **{name: round(seconds, 3) for name, seconds in timings.items()},
            "sampling_all_chains": round(float(sum(chain.seconds.sum() for chain in trace.chains)), 3),
        },
        "memory_estimate_mb": {name: -(-size // MEGABYTE) for name, size in sizes.items()},
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in DEPENDENCIES},
        },
    }
    return without_special_numbers(report)


def how_summarised(path: Path) -> dict[str, Any]:
    """Read from ``run.json`` how the result was summarised, and of how many iterations; empty if there is no file."""
    if not path.exists():
        return {}
    kinds: dict[str, Any] = {"command": str, "consensus": str, "burn_in": int, "iterations": int}
    kinds |= dict.fromkeys(Thresholds._fields, float | int)
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        found = {name: run[name] for name in kinds if name in run}
        found["iterations"] = run["convergence"]["iterations"]
        for name, value in found.items():
            if not isinstance(value, kinds[name]):
                raise TypeError(f"{name} is {value!r}")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as problem:
        raise TraceError(
            f"{path}: is not what analyze writes: {problem!r}: give the trace beside it instead"
        ) from None
    return found
