"""Tumour content: a number, or a normal distribution truncated to (0, 1].

A distribution is represented by a small grid: mean + z sd for z = -2.5, -2, .., 2.5 as far as it lies in (0, 1], and 1
if the last of these is beyond it. The weight of a value is the normal density times the width of its cell, which ends
half-way to its neighbours, and at 0 and 1.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.values import TUMOUR_CONTENT, checked, finite_number
from pyclone_pgsm.ranges import check_number

LEAST_SD, LARGEST_SD = 1e-6, 0.5
_Z = tuple(step / 2.0 for step in range(-5, 6))
_EXPECTED_OPTION = "a number or SAMPLE=number, like S1=0.8; or with its standard deviation, like S1=0.8±0.05"
_PLUS_MINUS = re.compile(r"±|\+-|\+/-")


class Uncertain(NamedTuple):
    """An uncertain tumour content: mean and standard deviation, both shares of the cells."""

    mean: float
    sd: float

    def __str__(self) -> str:
        """Return it as it is written in options."""
        return f"{self.mean:g}±{self.sd:g}"

    def check(self) -> None:
        """Raise ValueError if it is not a valid distribution."""
        try:
            TUMOUR_CONTENT.check(self.mean)
        except ValueError as fault:
            raise ValueError(f"the mean is {fault}") from None
        if not 0.0 < self.sd <= LARGEST_SD:
            raise ValueError(f"the standard deviation must be above 0 and at most {LARGEST_SD}")
        if self.sd < LEAST_SD:
            raise ValueError(
                f"the standard deviation must be at least {LEAST_SD:g}: give the number alone if it is certain"
            )

    def grid(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return increasing values, one of which is the mean, and their weights."""
        values = [self.mean + z * self.sd for z in _Z]
        inside = [value for value in values if 0.0 < value <= 1.0]
        if values[-1] > 1.0 > inside[-1]:
            inside.append(1.0)
        half_step = 0.25 * self.sd
        middles = [0.5 * (a + b) for a, b in itertools.pairwise(inside)]
        first = 0.0 if values[0] <= 0.0 else max(inside[0] - half_step, 0.0)
        edges = [first, *middles, min(inside[-1] + half_step, 1.0)]
        widths = [(b - a) / (2.0 * half_step) for a, b in itertools.pairwise(edges)]
        densities = [math.exp(-0.5 * ((value - self.mean) / self.sd) ** 2) for value in inside]
        return tuple(inside), tuple(density * width for density, width in zip(densities, widths))


Content = float | Uncertain
ContentOption = Content | Mapping[str, Content] | None
"""The user's option: for all samples, for some of them, or not given."""


def by_name(option: ContentOption) -> ContentOption:
    """Return the option with samples as texts: in Python their names may also be numbers, as those of data frames."""
    return {str(name): content for name, content in option.items()} if isinstance(option, Mapping) else option


def checked_means(option: ContentOption) -> float | dict[str, float] | None:
    """Return the option with each distribution replaced by its mean; raise UsageError if one is not valid."""
    if not isinstance(option, Mapping):
        return _checked_mean(option)
    of_samples = {sample: _checked_mean(content, sample) for sample, content in option.items()}
    return {sample: share for sample, share in of_samples.items() if share is not None}


def _checked_mean(content: Content | None, sample: str | None = None) -> float | None:
    if not isinstance(content, Uncertain):
        return checked("tumour_content", content, TUMOUR_CONTENT, sample)
    mean, sd = (check_number("tumour_content", number) for number in content)
    try:
        content.check()
    except ValueError as fault:
        of_sample = "" if sample is None else f"{sample}="
        raise UsageError(f"`tumour_content` {of_sample}{mean:g}±{sd:g}: {fault}") from None
    return mean


def uncertain(option: ContentOption, sample_ids: Sequence[str]) -> dict[str, Uncertain]:
    """Return the distribution of each sample that has one."""
    given = option if isinstance(option, Mapping) else dict.fromkeys(sample_ids, option)
    return {sample: given[sample] for sample in sample_ids if isinstance(given.get(sample), Uncertain)}  # type: ignore[misc]


def parse_content(text: str, expected: str) -> Content:
    """Parse FLOAT or MEAN±SD (or MEAN+-SD); ValueError for anything else says what is ``expected``."""
    parts = _PLUS_MINUS.split(text, maxsplit=1)
    numbers = [finite_number(number.strip(), expected) for number in parts]
    return Uncertain(*numbers) if len(numbers) == 2 else numbers[0]


def parse_tumour_content(texts: Sequence[str] | None) -> ContentOption:
    """Parse the values of ``--tumour-content``, each FLOAT, MEAN±SD (or MEAN+-SD), or SAMPLE= and one of these."""
    by_sample: dict[str, Content] = {}
    everywhere: Content | None = None
    for text in texts or ():
        sample, equals, content = text.rpartition("=")
        try:
            value = parse_content(content, _EXPECTED_OPTION)
        except ValueError as fault:
            raise UsageError(f"`tumour_content` {text!r}: {fault}") from None
        if equals:
            if sample in by_sample:
                raise UsageError(f"`tumour_content` {text!r}: sample {sample!r} is given twice")
            by_sample[sample] = value
        elif everywhere is not None:
            raise UsageError("`tumour_content`: one number for all samples is enough")
        else:
            everywhere = value
    if by_sample and everywhere is not None:
        raise UsageError("`tumour_content`: give one number for all samples, or one for each, not both")
    option = by_sample or everywhere
    checked_means(option)
    return option
