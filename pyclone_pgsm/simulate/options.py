"""Options of a simulation, and their allowed values."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.values import ERROR_RATE, TUMOUR_CONTENT, checked
from pyclone_pgsm.ranges import (
    Effects,
    check_bool,
    check_choice,
    check_effects,
    check_number,
    check_whole,
    refuse,
)

CLONES = "clones"
BY_MUTATION, BY_SAMPLE = "by-mutation", "by-sample"
EFFECTS: Effects = {
    **dict.fromkeys(("clonal", "absent"), ("prevalence_prior", (CLONES,))),
    "genotypes": ("copy_numbers", ("mixed",)),
}
"""Options of clones, and of copy numbers with several genotypes."""
LATER = {"subclonal": 0.0, "artefacts": 0.0, "prevalence_prior": CLONES, "genotypes": BY_MUTATION}
"""Options added later, noted only if they differ from these defaults, which all earlier simulations had."""

NUMBERS = ("depth", "missing", "error_rate", "absent", "subclonal", "artefacts")
"""Options that are one number, perhaps of numpy."""
MOST_MUTATIONS = 100_000_000
MOST_CELLS = 200_000_000
MOST_PRECISION = 1e9


@dataclass(frozen=True)
class SimulationOptions:
    """Options of a simulation, with the same names as in ``pyclone-pgsm simulate``.

    Attributes
    ----------
    mutations, samples, clusters : int
        T, D and K; each cluster has at least one mutation.
    depth : float
        Mean number of reads per mutation and sample, at least 1. Depths are 1 plus a Poisson number.
    purity : float or sequence of float
        Share of cancer cells, in (0, 1]: one number for all samples, or one per sample.
    copy_numbers : {"diploid", "mixed"}
        ``mixed``: each chromosome is cut in two, and each piece has one of `AUTOSOME_STATES`; some mutations
        are on the X chromosome of a male, where normal cells have one copy.
    genotypes : {"by-mutation", "by-sample"}
        Whether a mutation has one genotype, or one drawn independently for each sample, as the model of ``analyze``
        assumes. It needs ``mixed`` copy numbers; mutations on segments with an event of a subclone keep one.
    missing : float
        Share of (mutation, sample) pairs without a row, exact up to rounding. Every mutation keeps a row, so it is at
        most (D - 1)/D.
    precision : float or sequence of float
        s of the beta-binomial, infinite for the binomial: one number for all samples, or one per sample.
    error_rate : float
        Probability that a read shows the wrong allele, in (0, 0.5).
    cluster_sizes : {"dirichlet", "equal"}
        Sizes from weights with a flat Dirichlet distribution, or as equal as possible.
    clonal : bool
        One cluster has prevalence 1 in all samples.
    absent : float
        Probability that a subclonal cluster is absent (prevalence 0) from a sample, in [0, 1). In one sample, drawn at
        random, it is always present. Other prevalences are uniform on (0, 1).
    subclonal : float
        Probability that a segment has a copy-number event of a subclone, in [0, 1]. Unless it is 0, the prevalences
        come from a tree of clones, and `absent` is the probability that a sample has no cells of a clone except its
        descendants. It requires ``mixed`` copy numbers, a clonal cluster and another one.
    artefacts : float
        Share of the mutations that are artefacts, in [0, 1), exact up to rounding. Artefacts belong to no cluster;
        their expected shares of variant reads are independent and uniform on (0, 1) in each sample.
    prevalence_prior : {"clones", "learned", "uniform"}
        ``clones``: prevalences according to `clonal`, `absent` and `subclonal`. The other values are priors of
        ``analyze``, from which each cluster and sample is drawn independently, without `clonal` and `absent`:
        ``learned`` draws the weights of each sample first (:mod:`pyclone_pgsm.tumour.base_measure`); ``uniform`` is
        uniform on (0, 1).

    Raises
    ------
    UsageError
        A value is invalid; the message says which values are valid.
    """

    mutations: int = 200
    samples: int = 3
    clusters: int = 6
    depth: float = 100.0
    purity: float | Sequence[float] = 0.8
    copy_numbers: str = "diploid"
    missing: float = 0.0
    precision: float | Sequence[float] = math.inf
    error_rate: float = 0.001
    cluster_sizes: str = "dirichlet"
    clonal: bool = True
    absent: float = 0.2
    subclonal: float = 0.0
    artefacts: float = 0.0
    prevalence_prior: str = CLONES
    genotypes: str = BY_MUTATION

    def __post_init__(self) -> None:
        def check(name: str, right: bool, expected: str, value: object = None) -> None:
            if not right:
                shown = getattr(self, name) if value is None else value
                raise UsageError(f"`{name}` {shown}: must be {expected}")

        for name in ("mutations", "samples", "clusters"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name)))
        for name in NUMBERS:
            check_number(name, getattr(self, name))
        object.__setattr__(self, "clonal", check_bool("clonal", self.clonal))
        for name, known in (
            ("copy_numbers", ("diploid", "mixed")),
            ("cluster_sizes", ("dirichlet", "equal")),
            ("prevalence_prior", (CLONES, "learned", "uniform")),
            ("genotypes", (BY_MUTATION, BY_SAMPLE)),
        ):
            check_choice(name, getattr(self, name), known)
        check("mutations", 1 <= self.mutations <= MOST_MUTATIONS, f"between 1 and {MOST_MUTATIONS:,}")
        check("samples", self.samples >= 1, "at least 1")
        check(
            "samples",
            self.samples * self.mutations <= MOST_CELLS,
            f"at most {MOST_CELLS // self.mutations:,} with `mutations` {self.mutations}: a table has at most "
            f"{MOST_CELLS:,} rows",
        )
        check(
            "clusters",
            1 <= self.clusters <= self.mutations,
            f"between 1 and the number of mutations, {self.mutations}",
        )
        check("depth", 1 <= self.depth < 1e9, "at least 1 and below 1e9")
        for share in self.by_sample("purity"):
            checked("purity", float(share), TUMOUR_CONTENT)
        check("artefacts", 0 <= self.artefacts < 1, "at least 0 and below 1")
        if self.num_artefacts and self.clusters > self.mutations - self.num_artefacts:
            raise UsageError(
                f"`artefacts` {self.artefacts}: leaves fewer mutations than there are clusters, {self.clusters}"
            )
        most = (self.samples - 1) / self.samples
        expected = (
            f"between 0 and {math.floor(1000 * most) / 1000:g}, since every mutation keeps a row"
            if most
            else "0 with one sample"
        )
        check("missing", 0 <= self.missing <= most, expected)
        for precision in self.by_sample("precision"):
            check("precision", precision >= 0.1, "at least 0.1, or inf for the binomial", precision)
            expected = f"at most {MOST_PRECISION:g}, or inf for the binomial"
            check(
                "precision", precision <= MOST_PRECISION or math.isinf(precision), expected, f"{precision:g}"
            )
        checked("error_rate", self.error_rate, ERROR_RATE)
        check("absent", 0 <= self.absent < 1, "at least 0 and below 1")
        check("subclonal", 0 <= self.subclonal <= 1, "between 0 and 1")
        changed = [name for name in EFFECTS if getattr(self, name) != getattr(SimulationOptions, name)]
        check_effects(changed, vars(self), EFFECTS)
        if self.subclonal > 0 and self.prevalence_prior != CLONES:
            raise UsageError(
                f"`prevalence_prior` {self.prevalence_prior}: draws clusters independently, but `subclonal` needs a "
                f"tree of clones: use `prevalence_prior` {CLONES} or `subclonal` 0"
            )
        if self.subclonal > 0 and not (self.copy_numbers == "mixed" and self.clonal and self.clusters > 1):
            raise UsageError(
                f"`subclonal` {self.subclonal}: needs `copy_numbers` mixed, a clonal cluster and another"
            )

    def by_sample(self, name: str) -> NDArray[np.float64]:
        """Return (1,) or (D,) numbers of an option given once for all samples, or once per sample."""
        try:
            numbers = np.atleast_1d(np.array(getattr(self, name), float))  # also of the text inf of `to_dict`
        except (TypeError, ValueError, OverflowError):
            numbers = np.empty((0, 0))
        if numbers.ndim > 1:
            refuse(name, getattr(self, name), "one number for all samples, or one per sample")
        if len(numbers) not in (1, self.samples):
            raise UsageError(
                f"`{name}`: {len(numbers)} numbers for {self.samples} samples: "
                "must be one number for all samples, or one per sample"
            )
        return numbers

    @property
    def num_artefacts(self) -> int:
        """Number of mutations that are artefacts."""
        return round(self.artefacts * self.mutations)

    def to_dict(self) -> dict[str, Any]:
        """Return the options for JSON: an infinite precision is ``"inf"``, `LATER` options at defaults are omitted."""
        purity = [float(share) for share in self.by_sample("purity")]
        precisions = ["inf" if math.isinf(s) else float(s) for s in self.by_sample("precision")]
        precision = precisions[0] if len(precisions) == 1 else precisions
        numbers = {name: float(getattr(self, name)) for name in NUMBERS}
        noted = {**asdict(self), **numbers, "purity": purity, "precision": precision}
        return {name: noted[name] for name in noted if name not in LATER or noted[name] != LATER[name]}
