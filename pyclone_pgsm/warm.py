"""Compile ahead, in a process of its own: ``python -m pyclone_pgsm.warm``.

numba compiles on one processor. At the first start after installation a second process compiles, into the same folder,
what the program needs last, while the program compiles what it needs first.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np


def start_warming() -> None:
    """Start the second process if nothing has been compiled yet. It ends by itself, and nothing waits for it."""
    from pyclone_pgsm.compiling import is_cold

    if is_cold():
        subprocess.Popen(
            [sys.executable, "-m", "pyclone_pgsm.warm"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def main() -> None:
    """Call every kernel, in the reverse of the order in which `analyze` needs them, on four mutations."""
    from pyclone_pgsm.compiling import compiled_for
    from pyclone_pgsm.likelihoods.pyclone import PyClone, make_pyclone
    from pyclone_pgsm.posterior.consensus import assignment_probability, coclustering, consensus
    from pyclone_pgsm.posterior.prevalence import block_posteriors, cluster_prevalences, mutation_prevalences
    from pyclone_pgsm.priors import DirichletProcess
    from pyclone_pgsm.samplers.anchors import merge_scores
    from pyclone_pgsm.samplers.particle_gibbs import make_block_pool, split_merge
    from pyclone_pgsm.samplers.partition import PartitionPrior, build_partition

    T, G = 4, 101
    xi = -np.abs(np.linspace(0, 1, T)[:, None] - np.linspace(0, 1, G))
    xi -= xi.max(axis=1, keepdims=True)
    likelihood = np.exp(xi)
    index = np.arange(T, dtype=np.int32)[:, None]
    model = make_pyclone(index, xi, likelihood, np.zeros(T), np.log(likelihood.mean(axis=1)))
    rng = np.random.default_rng(0)
    prior = DirichletProcess()
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    partition = compiled_for(build_partition, PyClone)(model, np.zeros(T, np.int32))
    pool = make_block_pool(2, model.stat_size())
    move = compiled_for(split_merge, PyClone)
    move(model, tables, partition, np.array([0, 1]), 2, 0.5, True, pool, rng)
    labels = np.array([0, 0, 1, 1])
    draws = np.array([[0, 0, 1, 1], [0, 1, 1, 1]], np.uint8)
    compiled_for(merge_scores, PyClone)(model, labels.astype(np.int32), 2)
    consensus(draws, rng=rng)
    blocks = block_posteriors((model, row) for row in draws)
    mutation_prevalences(blocks, draws, G)
    cluster_prevalences(blocks, draws, labels, G)
    assignment_probability(draws, labels)
    coclustering(draws, np.arange(T))


if __name__ == "__main__":
    main()
