"""Runs chains in parallel, up to a number of iterations or until they have converged."""

import copy
import math
import os
import threading
import time
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from pyclone_pgsm.ranges import check_range
from pyclone_pgsm.sampling.chain import ChainState, Records
from pyclone_pgsm.sampling.convergence import Monitor, checks, find_end
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.sampling.workers import Workers

MOST_THREADS = 10_000
SEGMENT_SECONDS = 1.0  # about how long a segment takes, which does not affect the draws

Segment = tuple[int, ChainState, Records, bool]


def run_chains(
    workers: Workers,
    settings: Settings,
    states: list[ChainState],
    rebuild: int,
    threads: int,
    stop: threading.Event,
    deadline: float = math.inf,
) -> Generator[Segment, None, None]:
    """Run all chains until their end, as many at a time as `threads`.

    Yields each segment of each chain: its number, the state after the segment, the records of the segment, and whether
    the chain has done all its iterations.

    Once `stop` is set, or ``time.monotonic`` has passed the `deadline`, every chain stops at the next opportunity (in a
    process, only `SEGMENT_SECONDS` after the start of its segment); the iterations done are still yielded. For
    `rebuild` see :func:`~pyclone_pgsm.sampling.chain.advance`.
    """

    def is_over() -> bool:
        return stop.is_set() or time.monotonic() > deadline

    def segment(chain: int, state: ChainState) -> Segment:
        end = -math.inf if stop.is_set() else min(deadline, time.monotonic() + SEGMENT_SECONDS)
        return chain, *workers.advance(settings, state, rebuild, end, stop.is_set)

    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[Segment]] = set()
        try:
            for chain, state in enumerate(states):
                if state.iteration < settings.lengths[0]:
                    running.add(pool.submit(segment, chain, state))
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: future.result()[0]):
                    chain, state, _, finished = future.result()
                    if not finished and not is_over():
                        running.add(pool.submit(segment, chain, copy.deepcopy(state)))
                    yield future.result()
        except BaseException:
            stop.set()
            raise


def run_until_converged(
    workers: Workers,
    settings: Settings,
    states: list[ChainState],
    rebuild: int,
    threads: int,
    stop: threading.Event,
    monitor: Monitor,
) -> Generator[Segment, None, None]:
    """Run all chains from one check of the convergence rule to the next, until it is fulfilled.

    All chains reach the number of iterations of a check before the rule is checked, with the draws up to there. So when
    chains stop is a function of the draws, whatever the number of threads and however often the run was interrupted.
    Only ``settings.max_time`` depends on the machine; when it is over, all chains catch up with the farthest one.

    The `monitor` has the earlier draws of the chains, and at the end its ``end`` says where they stopped, unless they
    were interrupted; the other parameters are those of :func:`run_chains`.
    """
    states = list(states)
    most, first_burn_in = settings.lengths
    most -= most % rebuild  # a chain that stops elsewhere continues from an earlier state
    deadline = time.monotonic() + settings.max_time if settings.max_time else math.inf
    for check in checks(len(states[0].labels)):
        target = min(-(-check // rebuild) * rebuild, most)
        farthest = max(state.iteration for state in states)
        saves_none = target // settings.thin <= first_burn_in // settings.thin
        if target < most and (target < farthest or saves_none):
            continue
        # The first round ends at the deadline at the latest. If it passes, the chains stop at different iterations, so
        # in a second round, without deadline, the others catch up with the farthest.
        for limit in (deadline, math.inf):
            if limit == math.inf and time.monotonic() > deadline:
                target = max(state.iteration for state in states)
            block = replace(settings, iterations=target, burn_in=min(first_burn_in, target - 1))
            for chain, state, records, done in run_chains(
                workers, block, states, rebuild, threads, stop, limit
            ):
                states[chain] = copy.deepcopy(state)
                monitor.add(chain, records)
                yield chain, state, records, done
            if stop.is_set():
                return
        end = find_end(monitor.draws(), monitor.rule, target, first_burn_in)
        if end.converged or target >= most or time.monotonic() > deadline:
            monitor.end = end
            return


def effective_threads(threads: int | None, chains: int) -> int:
    """Return the number of threads: `threads`, or one per processor available to this process; at most `chains`."""
    if threads is None:
        try:
            threads = len(os.sched_getaffinity(0))
        except AttributeError:
            threads = os.cpu_count() or 1
    threads = check_range("threads", threads, 1, MOST_THREADS, "at most one thread per chain is used")
    return min(threads, chains)
