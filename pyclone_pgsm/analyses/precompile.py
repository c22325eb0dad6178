"""A second process that compiles ahead: ``python -m pyclone_pgsm.analyses.precompile LIKELIHOOD``.

numba compiles on one processor. At the first start with a likelihood a second process compiles, into the same folder,
what the program needs late (the particle Gibbs move and the summary), while the program compiles what it needs first. A
function that the other process is compiling is waited for (:mod:`pyclone_pgsm.jit.code_cache`), because compiling the
same would take longer.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyclone_pgsm.sampling.settings import Settings

GRID_SIZE = 101  # of the made-up tumour; the machine code is the same for any

_started: dict[type, subprocess.Popen[bytes]] = {}  # by likelihood class


def compile_ahead(likelihood: str, settings: Settings, threads: int | None) -> None:
    """Start the second process if several threads are used and there are particle Gibbs moves, nothing has been
    compiled yet, and no other program has started one; call this early.

    It looks for modules where this one does: a file of the working directory must not be run because it has the name of
    a module.
    """
    from pyclone_pgsm.jit.code_cache import own_processes
    from pyclone_pgsm.jit.compiling import is_cold, precompiling_lock
    from pyclone_pgsm.likelihoods.registry import find_likelihood
    from pyclone_pgsm.sampling.chains import effective_threads

    for process in _started.values():
        process.poll()  # so that the system forgets those that have ended
    if not settings.has_particles or effective_threads(threads, settings.chains) == 1:
        return
    kind = find_likelihood(likelihood)
    if kind in _started or not is_cold(kind):
        return
    lock = precompiling_lock(kind)
    if lock is None:
        return
    try:
        _started[kind] = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, likelihood],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock],  # the second process keeps the lock until it ends, even if this one ends earlier
        )
    except OSError:  # no more processes are allowed: this one compiles everything
        return
    finally:
        os.close(lock)
    own_processes.add(_started[kind].pid)


def stop_precompiling() -> None:
    """Stop the second process, because the program has nothing to do."""
    for process in _started.values():
        process.terminate()


def _four_mutations() -> Any:
    import numpy as np

    from pyclone_pgsm.likelihoods.pyclone import make_pyclone

    xi = -np.abs(np.linspace(0, 1, 4)[:, None] - np.linspace(0, 1, GRID_SIZE))
    xi -= xi.max(axis=1, keepdims=True)
    likelihood = np.exp(xi)
    index = np.arange(4, dtype=np.int32)[:, None]
    return make_pyclone(index, xi, likelihood, np.zeros(4))


def compile_particle_gibbs(likelihood: Any) -> None:
    """Call the kernel of a particle Gibbs move on four observations."""
    import numpy as np

    from pyclone_pgsm.jit.compiling import compiled_for
    from pyclone_pgsm.partition import Partition, PartitionPrior
    from pyclone_pgsm.priors import DirichletProcess
    from pyclone_pgsm.samplers.particle_blocks import make_block_pool
    from pyclone_pgsm.samplers.particles import SMCSettings
    from pyclone_pgsm.samplers.split_merge import split_merge

    kind = type(likelihood)
    prior = DirichletProcess()
    tables = PartitionPrior(prior.log_tau1(4), prior.log_tau2(4))
    # one block, made without the functions that the first process compiles at the same time
    stats = np.zeros((8, likelihood.stat_size()))
    slots = np.arange(8)
    partition = Partition(
        np.zeros(4, np.int32), np.array([4, *[0] * 7]), stats, slots, slots.copy(), np.ones(1, int)
    )
    rng = np.random.default_rng(0)
    pool = make_block_pool(2, likelihood.stat_size())
    move = compiled_for(split_merge, kind)
    settings = SMCSettings(2, 0.5, True, 0)
    move(likelihood, tables, partition, np.array([0, 1]), settings, pool, rng)


def compile_summary(is_tumour: bool) -> None:
    """Call the kernels of a summary, for a tumour including those of the prevalences."""
    import numpy as np

    from pyclone_pgsm.inputs.observations import Observations
    from pyclone_pgsm.posterior.consensus import consensus
    from pyclone_pgsm.posterior.multiplicity import Multiplicities
    from pyclone_pgsm.posterior.prevalence import block_posteriors, cluster_prevalences, mutation_prevalences
    from pyclone_pgsm.posterior.reads import reads_given_clusters
    from pyclone_pgsm.tumour.grid import deduplicate, loci_of, prevalence_grid

    labels = np.array([0, 0, 1, 1])
    draws = np.array([[0, 0, 1, 1], [0, 1, 1, 1]], np.uint8)
    if is_tumour:
        likelihood, grid = _four_mutations(), prevalence_grid(GRID_SIZE)
        blocks = block_posteriors((likelihood, row) for row in draws)
        one, share = np.ones((4, 1), np.int64), np.full((4, 1), 0.1)
        reads = Observations(list("abcd"), ["S"], one, one, one, one, 2 * one, share, share, one > 0)
        parts = [(loci_of(deduplicate(reads), "major"), 100.0)]
        copies = Multiplicities(parts, grid)
        mutation_prevalences(blocks, draws, grid, use=copies.find)
        _, density = cluster_prevalences(blocks, draws, labels, grid)
        reads_given_clusters(parts, labels, density, grid)
    consensus(draws, "mpear", rng=np.random.default_rng(0))


def main() -> None:
    """Compile for the likelihood given on the command line."""
    import numpy as np

    from pyclone_pgsm.likelihoods.registry import find_likelihood
    from pyclone_pgsm.tumour.options import TUMOUR

    gc.disable()  # garbage collection takes a twentieth of the time of compiling
    name = sys.argv[1]
    if name == TUMOUR:
        compile_particle_gibbs(_four_mutations())
    else:
        kind: Any = find_likelihood(name)
        compile_particle_gibbs(kind.from_data(np.zeros((4, 2))))
    compile_summary(name == TUMOUR)


if __name__ == "__main__":
    main()
