"""Settings of a run: the moves of an iteration, their parameters, and the length of the chains."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.ranges import (
    BOUNDS,
    OR_NONE,
    Effects,
    check_bool,
    check_choice,
    check_effects,
    check_number,
    check_range,
)
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS
from pyclone_pgsm.samplers.initial import check_clusters, check_init, is_file
from pyclone_pgsm.samplers.resampling import BOTH_KINDS, SCHEMES

SAMPLERS: dict[str, tuple[str, ...]] = {
    "mixed": ("gibbs", "pgsm"),
    "pgsm": ("pgsm",),
    "gibbs": ("gibbs",),
    "sams": ("sams",),
    "mixed-sams": ("gibbs", "sams"),
    "restricted-gibbs": ("restricted-gibbs",),
    "mixed-restricted-gibbs": ("gibbs", "restricted-gibbs"),
}
"""The moves of an iteration of each sampler, in this order."""

OF_PARTICLES = ("anchors", "particles", "targets", "resampling", "resample_threshold")
"""Options of the particle Gibbs moves alone."""


LARGEST_REBUILD = 10
"""Largest number of iterations after which chains compute their statistics anew, and can stop."""


def rounded_up(iterations: int) -> int:
    """Return the next multiple of :data:`LARGEST_REBUILD`."""
    return -(-iterations // LARGEST_REBUILD) * LARGEST_REBUILD


def _samplers_with(*moves: str) -> tuple[str, ...]:
    return tuple(name for name, steps in SAMPLERS.items() if set(moves) & set(steps))


EFFECTS: Effects = {
    "sweeps": ("sampler", _samplers_with("gibbs")),
    **dict.fromkeys(OF_PARTICLES, ("sampler", _samplers_with("pgsm"))),
    "scans": ("sampler", _samplers_with("restricted-gibbs")),
    **dict.fromkeys(
        ("moves", "close_moves", "anchor_proposal"),
        ("sampler", _samplers_with("pgsm", "sams", "restricted-gibbs")),
    ),
}
"""Options of moves, and the samplers that make these moves."""
AUTOMATIC = ("sampler", "moves", "close_moves", "anchor_proposal", "init", "burn_in", "hyper_every")
"""Options that have a value only if the user gave one, or once they are resolved."""

TARGETS = ("annealed", "plain")
"""The first is the default."""
PARTICLES = 20
MANY_OBSERVATIONS = 5000
"""With more observations, a particle Gibbs move takes as long as a sweep, and changes less than a merge-split move."""
HUGE = 200_000
"""With more observations, eight moves of close blocks take several times as long as a sweep, and a
run ends after its largest number of iterations."""
APART = "apart"
"""Value of ``init`` with which each chain starts differently."""
MANY, SOME, FEW = 50, 20, 5
"""Numbers of random clusters of these starts."""
MOST_ALONE = 500
"""With more observations, no chain starts with each in its own cluster: the first iterations would take too long."""


def first_check(num_observations: int) -> int:
    """Return the number of iterations after which the convergence rule is first checked."""
    return 250 if num_observations <= 4000 else 100


def start_of(chain: int, init: str, num_observations: int, most_clusters: int) -> str:
    """Return the start of a chain: `init`, unless it is "apart", in which case chains start differently.

    They take turns: one cluster, many random ones, every observation alone (with many observations: some random
    clusters), and few random ones. No start has more clusters than the prior allows, and random clusters are at most a
    quarter as many as the observations.
    """
    if init != APART:
        return init
    most = max(1, min(most_clusters, num_observations // 4))
    alone = num_observations <= min(MOST_ALONE, most_clusters)
    starts = (
        "single",
        f"random:{min(MANY, most)}",
        "disconnected" if alone else f"random:{min(SOME, most)}",
        f"random:{min(FEW, most)}",
    )
    return starts[chain % len(starts)]


@dataclass(frozen=True)
class Settings:
    """Settings of a run. The names are those of the command line's options.

    Attributes
    ----------
    sampler : str or None
        Moves of an iteration: one of :data:`SAMPLERS`. None: chosen by :meth:`resolve`.
    sweeps : int
        Number of Gibbs sweeps per iteration, for samplers that have them.
    moves : int or None
        Number of split-merge moves per iteration, for samplers that have them. None: chosen by :meth:`resolve`.
    close_moves : int or None
        Number of merge-split moves per iteration with anchors in close blocks
        (:mod:`pyclone_pgsm.samplers.close_blocks`), for samplers that have split-merge moves. Models that
        have exchanges between blocks make half as many of these. None: chosen by :meth:`resolve`.
    particles : int
        N of the particle Gibbs kernel.
    resample_threshold : float or None
        Relative effective sample size below which particles are resampled. None: 0.5, or 0.1 for a matrix whose
        resampling is "both-kinds".
    resampling : str or None
        Resampling scheme: one of :data:`~pyclone_pgsm.samplers.resampling.SCHEMES`. None: "multinomial", or
        "both-kinds" for a matrix, with two anchors.
    anchors : int
        Number of anchors of a particle Gibbs split-merge move, which divides their blocks into at most as many.
    anchor_proposal : str or None
        How anchors are chosen: one of :data:`~pyclone_pgsm.samplers.anchors.ANCHOR_PROPOSALS`. None: chosen by
        :meth:`resolve`.
    targets : {"annealed", "plain"}
        Intermediate targets of the particle Gibbs kernel.
    scans : int
        Number of intermediate restricted Gibbs scans, which make the launch state of a restricted-gibbs move.
    init : str or None
        "single", "disconnected", "random", "random:K", a file of labels (see :mod:`pyclone_pgsm.samplers.initial`), or
        "apart", different for each chain (:func:`start_of`). None: "single" if `iterations` is a number, else "apart".
    iterations : int or None
        Total number per chain. None: until convergence (:mod:`pyclone_pgsm.sampling.convergence`).
    burn_in : int or None
        Number of first iterations that summaries skip; if chains run until convergence, the shortest burn-in allowed.
        None: half of a given number of iterations, or chosen by :meth:`resolve`.
    thin : int
        Every iteration whose number is a multiple of this is saved.
    chains : int
    seed : int
    hyper_every : int or None
        Hyperparameters of the likelihood whose change takes long are updated once in this many iterations. None: chosen
        by :meth:`resolve`.
    max_iterations : int or None
        Largest number for chains that run until convergence, rounded up to tens. None: chosen by :meth:`resolve`.
    max_time : float or None
        Seconds after which chains that have not converged stop, when they have caught up with the farthest; other work
        of a run, before and after, comes on top.
    until_converged : bool
        Whether chains run until convergence. :meth:`resolve` sets it if the number of iterations is None;
        ``iterations`` is then the largest number.
    watch : bool
        Whether the further quantities that the convergence rule uses are saved (``watched`` of
        :class:`~pyclone_pgsm.likelihoods.model.Model`).

    Raises
    ------
    UsageError
        A value is not allowed; the message names the option.
    """

    sampler: str | None = None
    sweeps: int = 1
    moves: int | None = None
    close_moves: int | None = None
    particles: int = PARTICLES
    resample_threshold: float | None = None
    resampling: str | None = None
    anchors: int = 2
    anchor_proposal: str | None = None
    targets: str = "annealed"
    scans: int = 5
    init: str | None = None
    iterations: int | None = None
    burn_in: int | None = None
    thin: int = 1
    chains: int = 4
    seed: int = 1
    hyper_every: int | None = None
    max_iterations: int | None = None
    max_time: float | None = None
    until_converged: bool = False
    watch: bool = False

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, Collection[str]], ...] = (
            ("sampler", SAMPLERS),
            ("targets", TARGETS),
            ("resampling", SCHEMES),
            ("anchor_proposal", ANCHOR_PROPOSALS),
        )
        for name, known in choices:
            check_choice(name, getattr(self, name), known, getattr(Settings, name) is None)
        for name, (least, most, reason) in BOUNDS.items():
            value, may_be_none = getattr(self, name), getattr(Settings, name) is None
            if value is not None or not may_be_none:
                value = check_range(name, value, least, most, reason, OR_NONE if may_be_none else "")
                object.__setattr__(self, name, value)  # a number of numpy as one of Python
        for name in ("until_converged", "watch"):
            object.__setattr__(self, name, check_bool(name, getattr(self, name)))
        for name in ("resample_threshold", "max_time"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if self.resample_threshold is not None and not 0.0 <= self.resample_threshold <= 1.0:
            raise UsageError(f"`resample_threshold` {self.resample_threshold}: must lie between 0 and 1")
        if isinstance(self.init, Path):
            object.__setattr__(self, "init", str(self.init))
        if self.init is not None:
            check_init(self.init)
        if self.anchors != 2:
            self.check_effects(["anchors"])
            self._check_anchors()
        self._check_limits()
        if self.iterations is not None and self.burn_in is not None and not self.until_converged:
            self._check_lengths(self.iterations, self.burn_in)

    def check_effects(self, given: Collection[str] | None = None) -> None:
        """Raise UsageError for an option of moves that the sampler does not make.

        Options in `given` are checked; None: those whose value is not the default.
        """
        if given is None:
            given = [name for name in EFFECTS if getattr(self, name) != getattr(Settings, name)]
        check_effects(given, {**vars(self), "sampler": self.sampler or "mixed"}, EFFECTS)

    def _check_anchors(self) -> None:
        if self.anchor_proposal not in (None, "uniform"):
            raise UsageError(
                f"`anchors` {self.anchors}: `anchor_proposal` {self.anchor_proposal} can only draw two anchors; "
                "use uniform"
            )
        if self.resampling == SCHEMES[BOTH_KINDS]:
            raise UsageError(
                f"`anchors` {self.anchors}: `resampling` {self.resampling} can only be used with two anchors; use "
                "another scheme"
            )

    def _check_limits(self) -> None:
        if self.max_time is not None and not 0.0 < self.max_time < math.inf:
            raise UsageError(f"`max_time` {self.max_time:g}: must be a positive number of seconds")
        if self.iterations is not None and not self.until_converged:
            for name in ("max_iterations", "max_time"):
                if getattr(self, name) is not None:
                    raise UsageError(
                        f"`{name}` {getattr(self, name):g}: can only be used with `iterations` auto, but "
                        f"`iterations` {self.iterations} is given: leave one of the two out"
                    )

    def _check_lengths(self, iterations: int, burn_in: int) -> None:
        if burn_in >= iterations:
            raise UsageError(
                f"`burn_in` {burn_in}: must be less than the number of iterations, {iterations}, which includes the "
                "burn-in"
            )
        if iterations // self.thin == burn_in // self.thin:
            raise UsageError(
                f"`thin` {self.thin}: no iteration after the burn-in ({burn_in}) up to the last ({iterations}) is "
                "saved; use a smaller value"
            )

    def resolve(self, num_observations: int) -> Settings:
        """Return the settings with the defaults for this number of observations filled in.

        Iterations: until convergence, at most 10,000, fewer for more than 3,000 observations, but at least 200. The
        burn-in is then found by the convergence rule, and proposals adapt for half of the iterations before its first
        check. With a given number of iterations the burn-in is half of it.
        Sampler: "mixed", or "mixed-sams" for more than 5,000 observations, unless an option of the particle Gibbs moves
        is given.
        Split-merge moves per iteration of the default sampler, or of "mixed": one with balanced anchors (uniform ones
        for more than two anchors, which no other proposal can draw), and 16 with anchors in close blocks, 8 for more
        than 5,000 observations, 2 for more than 200,000. Any other sampler makes 4, none of them with anchors in close
        blocks.
        Updates of hyperparameters whose change takes long: in each iteration, or in every third for more than 1,000
        observations.

        UsageError if the burn-in leaves no iteration, an option has no effect with the sampler, or the start has more
        random clusters than there are observations.
        """
        if self.init is not None:
            check_clusters(self.init, num_observations)
        if any(getattr(self, name) is None for name in AUTOMATIC):  # otherwise they were resolved before
            self.check_effects()
        until_converged = self.until_converged or self.iterations is None
        if until_converged:
            most = max(200, min(10_000, 30_000_000 // max(1, num_observations)))
            most -= most % LARGEST_REBUILD
            iterations = rounded_up(self.max_iterations or most)
            adapting = min(first_check(num_observations), iterations) // 2
            burn_in = adapting if self.burn_in is None else self.burn_in
        else:
            iterations = self.iterations or 0
            burn_in = iterations // 2 if self.burn_in is None else self.burn_in
        self._check_lengths(iterations, burn_in)
        is_large = num_observations > MANY_OBSERVATIONS
        requires_particles = any(getattr(self, name) != getattr(Settings, name) for name in OF_PARTICLES)
        is_mixed = self.sampler in (None, "mixed")
        moves = 1 if is_mixed else 4
        close_moves = 0 if not is_mixed else 2 if num_observations > HUGE else 8 if is_large else 16
        return replace(
            self,
            sampler=self.sampler or ("mixed-sams" if is_large and not requires_particles else "mixed"),
            iterations=iterations,
            burn_in=burn_in,
            max_iterations=iterations if until_converged else None,
            until_converged=until_converged,
            watch=self.watch or until_converged,
            init=self.init or (APART if until_converged else "single"),
            moves=self.moves or moves,
            close_moves=close_moves if self.close_moves is None else self.close_moves,
            anchor_proposal=self.anchor_proposal or ("uniform" if self.anchors > 2 else "balanced"),
            hyper_every=self.hyper_every or (1 if num_observations <= 1000 else 3),
            resampling=self.scheme,
            resample_threshold=self.threshold,
        )

    @property
    def steps(self) -> tuple[str, ...]:
        """Moves of an iteration in order, without those of close blocks."""
        return SAMPLERS[self.sampler or "mixed"]

    @property
    def has_particles(self) -> bool:
        """Whether there are particle Gibbs moves."""
        return "pgsm" in self.steps

    @property
    def start(self) -> str:
        """Start of the chains; one cluster if none was given and the settings were not resolved."""
        return self.init or "single"

    @property
    def files(self) -> list[Path]:
        """The file of labels from which the chains start, if they start from one."""
        return [Path(self.start)] if is_file(self.start) else []

    @property
    def last_saved(self) -> int:
        """Number of the last iteration that is saved of a chain of full length."""
        return self.lengths[0] // self.thin * self.thin

    @property
    def lengths(self) -> tuple[int, int]:
        """Iterations and burn-in of resolved settings."""
        if self.iterations is None or self.burn_in is None:
            raise ValueError("resolve the settings first")
        return self.iterations, self.burn_in

    @property
    def proposal(self) -> str:
        """Name of the anchor proposal; if the settings were not resolved, "cluster", or "uniform" for more anchors."""
        return self.anchor_proposal or ("cluster" if self.anchors == 2 else "uniform")

    @property
    def scheme(self) -> str:
        """Name of the resampling scheme."""
        return self.resampling or "multinomial"

    @property
    def threshold(self) -> float:
        """Relative effective sample size below which particles are resampled."""
        return 0.5 if self.resample_threshold is None else self.resample_threshold
