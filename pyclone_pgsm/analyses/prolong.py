"""Length of resumed chains."""

from dataclasses import replace
from typing import Any

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.sampling.settings import Settings, rounded_up
from pyclone_pgsm.trace import RunOptions, Trace


def prolonged(
    trace: Trace,
    iterations: int | str | None = None,
    max_iterations: int | None = None,
    max_time: float | None = None,
) -> RunOptions | None:
    """Return the options with which the chains of a trace continue; None if there is nothing to do.

    Parameters and errors are those of :func:`pyclone_pgsm.analyses.run.resume`.
    """
    given: dict[str, Any] = {"max_iterations": max_iterations, "max_time": max_time}
    number = iterations if isinstance(iterations, int) else None
    Settings(iterations=number, **given)  # refuses values out of range, and limits for a given number
    if number is not None:
        return _with_iterations(trace, number)
    if iterations == "auto" or trace.options.settings.until_converged:
        return _until_converged(trace, max_iterations, max_time)
    limits = [f"`{name}` {value:g}" for name, value in given.items() if value is not None]
    if limits:
        raise UsageError(
            f"{limits[0]}: the chains of {trace.path} have a fixed number of iterations: give `iterations` auto, too, "
            "to let them run until they have converged"
        )
    return _with_iterations(trace, trace.options.settings.lengths[0])


def _with_iterations(trace: Trace, iterations: int) -> RunOptions | None:
    options, settings = trace.options, trace.options.settings
    total, burn_in = settings.lengths
    if settings.until_converged and options.stopped in (None, "max-time"):
        total = max(chain.last_iteration for chain in trace.chains)
        burn_in = max(burn_in if burn_in < iterations else 0, iterations // 2)
    if iterations < total:
        raise UsageError(
            f"`iterations` {iterations}: {trace.path} is meant to have {total}; give at least that"
        )
    is_done = all(chain.last_iteration + settings.thin > iterations for chain in trace.chains)
    if is_done and not settings.until_converged:
        return None
    settings = replace(
        settings,
        iterations=iterations,
        burn_in=burn_in,
        until_converged=False,
        max_iterations=None,
        max_time=None,
    )
    return replace(options, settings=settings, stopped=None)


def _until_converged(trace: Trace, max_iterations: int | None, max_time: float | None) -> RunOptions | None:
    options, settings = trace.options, trace.options.settings
    ends = [chain.last_iteration for chain in trace.chains]
    done = max(ends)
    if max_iterations is not None and max_iterations < done:
        raise UsageError(f"`max_iterations` {max_iterations}: {trace.path} has {done} already; give more")
    if options.stopped == "converged":
        return None
    if not settings.until_converged:
        most = Settings().resolve(len(trace.data.names)).lengths[0]
        most = max(most, 2 * done)
    else:
        most = max(done, settings.max_iterations or settings.lengths[0])
        all_at_limit = len(set(trace.seeds)) > 1 and min(ends) >= most  # merged runs that stopped there
        if options.stopped == "max-iterations" or all_at_limit:
            most = 2 * done
    if max_iterations is not None:
        most = rounded_up(max_iterations)
    if max_time is None and options.stopped is None:
        max_time = settings.max_time
    burn_in = settings.lengths[1]
    if options.stopped is not None:  # perhaps before the chains had adapted for as long as they do by default
        burn_in = max(burn_in, Settings(max_iterations=most).resolve(len(trace.data.names)).lengths[1])
    settings = replace(
        settings,
        iterations=most,
        burn_in=burn_in,
        max_iterations=most,
        max_time=max_time,
        until_converged=True,
    )
    return replace(options, settings=settings, stopped=None)
