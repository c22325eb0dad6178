"""Start from the posterior, take one step of a kernel, and see that it is still the posterior.

A kernel leaves pi invariant if c ~ pi implies c' ~ pi. So draw many independent c from the enumerated pi, apply the
kernel once to each, and test the independent c' against pi: no burn-in, no autocorrelation, no tolerance to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
import numpy as np
from enumeration import Posterior, chi_square_p_value

from pyclone_pgsm.jit.compiling import compiled_for, inner
from pyclone_pgsm.jit.linking import EntryCompiler
from pyclone_pgsm.partition import PartitionPrior, build_partition, canonical_labels
from pyclone_pgsm.priors import DirichletProcess, Prior
from pyclone_pgsm.samplers.anchors import AnchorProposal, ClusterInformedAnchors, UniformAnchors
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.split_merge import split_merge

DIFFERENT_ANCHORS = 5_000


@dataclass(frozen=True)
class Kernel:
    """One iteration: `sweeps` Gibbs sweeps, then `moves` split-merge moves."""

    sweeps: int = 0
    moves: int = 0
    particles: int = 20
    threshold: float = 0.5
    annealed: bool = True
    cluster_informed: bool = False
    scheme: str = "multinomial"
    anchors: int = 2

    def __str__(self) -> str:
        names = ["gibbs"] * self.sweeps
        if self.moves:
            target = "annealed" if self.annealed else "plain"
            anchors = "cluster" if self.cluster_informed else "uniform"
            scheme = "" if self.scheme == "multinomial" else f",{self.scheme}"
            number = f",s={self.anchors}" if self.anchors > 2 else ""
            names += [
                f"pgsm({target},{anchors},N={self.particles},ess={self.threshold:g}{scheme}{number})"
            ] * self.moves
        return "+".join(names)


def compile_inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that :func:`compile_steps` links into its loop: no machine code of its own."""
    compiled: Callable[..., Any] = inner(nogil=True)(function)
    return compiled


def compile_steps(steps: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over replicates."""
    compiled: Callable[..., Any] = numba.njit(nogil=True, pipeline_class=EntryCompiler)(steps)
    return compiled


def make_steps(build: Any, sweep: Any, move: Any) -> Callable[..., Any]:
    """A compiled loop over replicates.

    Its arguments: the likelihood, the prior, (N, T) start labels, (N, moves, s) anchors, the settings of the kernel,
    the pool, the generator, and what a sweep and a move take besides (nothing, but for kernels made faulty).
    """

    def steps(  # type: ignore[no-untyped-def]
        likelihood,
        prior,
        starts,
        anchors,
        sweeps,
        moves,
        settings,
        pool,
        rng,
        more_for_sweep,
        more_for_move,
    ):
        T = starts.shape[1]
        order = np.arange(T)
        codes = np.zeros(len(starts), np.int64)
        for r in range(len(starts)):
            partition = build(likelihood, starts[r])
            for _ in range(sweeps):
                partition, _ = sweep(likelihood, prior, partition, order, rng, *more_for_sweep)
            for m in range(moves):
                partition, _, _ = move(
                    likelihood,
                    prior,
                    partition,
                    anchors[r, m],
                    settings,
                    pool,
                    rng,
                    *more_for_move,
                )
            labels, _ = canonical_labels(partition.labels)
            for i in range(T - 1, -1, -1):
                codes[r] = codes[r] * T + labels[i]
        return codes

    return compile_steps(steps)


@cache
def sound_steps(likelihood: type) -> Callable[..., Any]:
    """With the very functions that the chains run."""
    build, sweep = (compiled_for(kernel, likelihood) for kernel in (build_partition, gibbs_sweep))
    return make_steps(build, sweep, compiled_for(split_merge, likelihood))


def tables(concentration: float, num_observations: int, prior: Prior | None = None) -> PartitionPrior:
    """Of `prior`, a Dirichlet process if not given."""
    prior = prior or DirichletProcess(concentration, None, None)
    return PartitionPrior(prior.log_tau1(num_observations), prior.log_tau2(num_observations))


def anchor_proposal(kernel: Kernel, likelihood: Any, posterior: Posterior) -> AnchorProposal:
    """Uniform; or informed by a fixed reference, the most probable partition of three blocks or more."""
    T = posterior.partitions.shape[1]
    if not kernel.cluster_informed:
        return UniformAnchors(T)
    proposal = ClusterInformedAnchors(T)
    rich = posterior.partitions.max(axis=1) >= min(2, T - 1)
    best = np.argmax(np.where(rich, posterior.log_joint, -np.inf))
    reference = compiled_for(build_partition, type(likelihood))(likelihood, posterior.partitions[best])
    proposal.adapt(likelihood, reference)
    assert proposal.record == posterior.partitions[best].max() + 1
    return proposal


def draw_anchors(
    proposal: AnchorProposal, size: int, moves: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """(size, moves, count) anchors from the package's proposal (a kernel is exact for any anchors: some may repeat)."""
    drawn = np.array([proposal.draw(rng, count) for _ in range(DIFFERENT_ANCHORS)])
    return drawn[rng.integers(DIFFERENT_ANCHORS, size=(size, moves))]


def p_value(
    likelihood: Any,
    posterior: Posterior,
    concentration: float,
    kernel: Kernel,
    replicates: int,
    seed: int = 1,
    steps: Callable[..., Any] | None = None,
    more_for_sweep: tuple[int, ...] = (),
    more_for_move: tuple[int, ...] = (),
    prior: Prior | None = None,
) -> float:
    """Of the test that one step of the kernel leaves the posterior as it is.

    `steps` is from :func:`make_steps`, :func:`sound_steps` if not given.
    `prior` is the posterior's, a Dirichlet process with `concentration` if not given.
    """
    rng = np.random.default_rng(seed)
    T = posterior.partitions.shape[1]
    steps = steps or sound_steps(type(likelihood))
    codes = steps(
        likelihood,
        tables(concentration, T, prior),
        posterior.draw(replicates, rng),
        draw_anchors(
            anchor_proposal(kernel, likelihood, posterior),
            replicates,
            max(1, kernel.moves),
            kernel.anchors,
            rng,
        ),
        kernel.sweeps,
        kernel.moves,
        SMCSettings(kernel.particles, kernel.threshold, kernel.annealed, SCHEMES.index(kernel.scheme)),
        make_block_pool(kernel.particles, likelihood.stat_size(), kernel.anchors),
        rng,
        more_for_sweep,
        more_for_move,
    )
    return chi_square_p_value(posterior.count(codes), posterior.probabilities)
