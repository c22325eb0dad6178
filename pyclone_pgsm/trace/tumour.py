"""The data of a tumour in a trace, and the options of its model."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import COLUMNS, PRIORS_WITHOUT_COPY_NUMBERS, LeftOut, Observations
from pyclone_pgsm.inputs.read_counts.layout import ANNOTATIONS
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.trace.hyperparameters import values_of
from pyclone_pgsm.trace.structure import check_members, group_of, read, read_texts, write_array, write_texts
from pyclone_pgsm.trace.values import Fault, Values, check_keys, check_names, of_column, refuse, shown, within
from pyclone_pgsm.tumour.base_measure import ABSENT, CLONAL
from pyclone_pgsm.tumour.options import TumourOptions

CELL_ENDS = re.compile("[\t\n\r\0]")
"""Characters that a cell of a table cannot contain."""

OPTIONAL = ("tumour_content", "outlier_prob")
"""Options of the model that a trace may lack."""
BINOMIAL = 10.0
"""A precision above this many times the median depth is equivalent to the binomial."""

MATRICES: dict[str, Values] = {
    "has_data": Values("bool", within(0, 1), "true or false"),
    **{name: of_column(*allowed) for name, allowed in COLUMNS.items()},
}
"""Datasets of ``/data`` with one row for each mutation and one column for each sample."""


@dataclass(frozen=True)
class TumourData:
    """Reads of mutations, what was left out or changed of the input, and what the user should check in it."""

    kind: ClassVar[str] = "tumour"
    prior_parameters: ClassVar[tuple[str, ...]] = (ABSENT, CLONAL)
    """Parameters of the prior of prevalences, which have one value for each sample."""
    observations: Observations
    left_out: list[LeftOut]
    options: TumourOptions
    warnings: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the mutations."""
        return self.observations.mutation_ids

    @property
    def num_columns(self) -> int:
        """Number of samples."""
        return self.observations.num_samples

    @property
    def immaterial_above(self) -> dict[str, float]:
        """Limit for the precision: far above the number of reads it is equivalent to the binomial."""
        depth = self.observations.depth[self.observations.has_data]
        return {"precision": BINOMIAL * float(np.median(depth))}

    def make_model(self, likelihood: str | None = None) -> Model:
        """Make the model of the mutations; `likelihood` is ignored, as there is only one."""
        return self.options.make_model(self.observations)

    @property
    def compared(self) -> tuple[list[list[str]], list[NDArray[Any]]]:
        """Names and reads, in which the data of merged traces must agree."""
        data = self.observations
        return [data.mutation_ids, data.sample_ids], [getattr(data, name) for name in MATRICES]

    def allowed_values(self, hyperparameter: str) -> Values:
        """Return the allowed values of a hyperparameter."""
        return values_of(hyperparameter, self.observations.num_mutations, self.options.tumour_content)

    def write(self, group: h5py.Group) -> None:
        """Write names, reads, copy numbers, what was left out, and warnings."""
        data = self.observations
        group.attrs["description"] = (
            "T mutations x D samples; values where has_data is false are placeholders. "
            "subclonal_fraction: share of the tumour cells that hold a second copy-number state, 0 where there is one. "
            "grid: the cellular prevalences of the likelihood. "
            "left_out: JSON, one list [file, row, mutation_id, sample_id, reason] a line of left_out.tsv. "
            "warnings: what the user should look at in the input"
        )
        write_texts(group, "mutation_ids", data.mutation_ids)
        write_texts(group, "sample_ids", data.sample_ids)
        for name, kind in MATRICES.items():
            write_array(group, name, np.asarray(getattr(data, name), kind.dtype))
        annotations = group.create_group("annotations")
        for name, texts in data.annotations.items():
            write_texts(annotations, name, texts)
        write_texts(group, "left_out", [json.dumps(row) for row in self.left_out])
        write_texts(group, "warnings", self.warnings)
        write_array(group, "grid", self.options.grid)

    @classmethod
    def read_options(cls, values: dict[str, Any]) -> TumourOptions:
        """Return the options of the model, from JSON."""
        names = [each.name for each in fields(TumourOptions)]
        check_keys("model", values, ("likelihood", *names), [name for name in names if name not in OPTIONAL])
        contents = values.get("tumour_content", {})
        if not isinstance(contents, dict) or not all(
            isinstance(pair, list) and len(pair) == 2 for pair in contents.values()
        ):
            expected = "an object of a mean and a standard deviation for each sample"
            raise Fault("model.tumour_content", f"{shown(contents)}; expected {expected}")
        try:
            return TumourOptions.from_dict(values)
        except UsageError as problem:
            raise Fault("model", str(problem)) from None

    @classmethod
    def read(cls, group: h5py.Group, options: TumourOptions) -> TumourData:
        """Read and check the data in a group."""
        texts = ("mutation_ids", "sample_ids", "annotations", "left_out", "warnings")
        check_members(group, (*texts, *MATRICES, "grid"))
        observations = _read_observations(group)
        points = Values("float64", within(0.0, 1.0), "a prevalence")
        given, expected = read(group, "grid", points, (options.grid_size,)), options.grid
        if not np.allclose(given, expected, rtol=0.0, atol=1e-12):  # sines may differ in their last digits
            prior = options.prevalence_prior
            raise Fault("data/grid", f"is not the grid of {len(expected)} prevalences of the {prior} prior")
        _check_observations(observations, options.genotype_prior)
        for name in sorted(set(options.tumour_content) - set(observations.sample_ids)):
            raise Fault("config.options.model.tumour_content", f"{shown(name)} is none of the samples")
        lines = read_texts(group, "left_out")
        left_out = [_left_out(place, text) for place, text in enumerate(lines)]
        return cls(observations, left_out, options, read_texts(group, "warnings"))


def _read_observations(group: h5py.Group) -> Observations:
    mutation_ids, sample_ids = (read_texts(group, name) for name in ("mutation_ids", "sample_ids"))
    shape = len(mutation_ids), len(sample_ids)
    annotations = group_of(group, "annotations")
    for name in annotations:
        if name not in ANNOTATIONS:
            raise Fault("data/annotations", f"{shown(name)} is none of {', '.join(sorted(ANNOTATIONS))}")
    matrices: dict[str, Any] = {name: read(group, name, kind, shape) for name, kind in MATRICES.items()}
    return Observations(
        mutation_ids,
        sample_ids,
        **matrices,
        annotations={
            name: read_texts(annotations, name, shape[0]) for name in ANNOTATIONS if name in annotations
        },
    )


def _check_observations(data: Observations, genotype_prior: str) -> None:
    """Raise :class:`Fault` if the data of a tumour are inconsistent."""
    check_names("data/mutation_ids", data.mutation_ids)
    check_names("data/sample_ids", data.sample_ids)
    for name, texts in data.annotations.items():
        for place, text in enumerate(texts):
            if CELL_ENDS.search(text):
                reason = f"[{place}] is {shown(text)}, more than a cell of a table"
                raise Fault(f"data/annotations/{name}", reason)
    for minor, major in (("minor_cn", "major_cn"), ("subclonal_minor_cn", "subclonal_major_cn")):
        too_large = getattr(data, minor) > getattr(data, major)
        refuse(f"data/{minor}", too_large, f"is more than {major}")
    known = data.has_data
    refuse("data/has_data", known & (data.depth == 0), "is true, but there are no reads")
    if genotype_prior not in PRIORS_WITHOUT_COPY_NUMBERS:
        without = (
            known & (data.major_cn == 0) & ((data.subclonal_major_cn == 0) | (data.subclonal_fraction == 0))
        )
        refuse("data/has_data", without, "is true, but the tumour has no copy of the locus")
    if not known.any():
        raise Fault("data/has_data", "is nowhere true")


def _left_out(place: int, text: str) -> LeftOut:
    """Read one row of ``left_out.tsv``."""
    with suppress(ValueError, TypeError, RecursionError):
        row = json.loads(text)
        file, line, *others = row
        is_right = isinstance(file, str) and (line is None or type(line) is int) and len(others) == 3
        if is_right and all(isinstance(each, str) for each in others):
            return LeftOut(*row)
    raise Fault(
        "data/left_out", f"[{place}] is {shown(text)}; expected [file, row, mutation_id, sample_id, reason]"
    )
