"""Tumour content: a number, or a normal distribution of it that is cut off outside of (0, 1].

A distribution is laid on a small grid, mean + z sd for z = -2.5, -2, .., 2.5 as far as it lies in (0, 1], with the
normal density as weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.values import TUMOUR_CONTENT, checked
from pyclone_pgsm.ranges import check_number

LEAST_SD, LARGEST_SD = 1e-6, 0.5
_Z = tuple(step / 2.0 for step in range(-5, 6))
_PLUS_MINUS = re.compile(r"±|\+-|\+/-")


class Uncertain(NamedTuple):
    """A tumour content that is not quite known: mean and standard deviation, both shares of the cells."""

    mean: float
    sd: float

    def grid(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values, increasing, and their weights; the mean is one of them."""
        points = [(self.mean + z * self.sd, math.exp(-0.5 * z * z)) for z in _Z]
        values, weights = zip(*[(value, weight) for value, weight in points if 0.0 < value <= 1.0])
        return values, weights


Content = float | Uncertain
ContentOption = Content | Mapping[str, Content] | None
"""What the user says: of all samples, of some of them, or nothing."""


def checked_means(option: ContentOption) -> float | dict[str, float] | None:
    """The option with a number in place of each distribution.

    Raises
    ------
    UsageError
        If a number or a distribution cannot be a tumour content.
    """
    check_uncertain(option)
    if not isinstance(option, Mapping):
        return checked("tumour content", _mean(option), TUMOUR_CONTENT)
    of_samples = {
        sample: checked(f"tumour content of sample {sample!r}", _mean(content), TUMOUR_CONTENT)
        for sample, content in option.items()
    }
    return {sample: share for sample, share in of_samples.items() if share is not None}


def _mean(content: Content | None) -> float | None:
    return content.mean if isinstance(content, Uncertain) else content


def uncertain(option: ContentOption, sample_ids: Sequence[str]) -> dict[str, Uncertain]:
    """The distribution of each sample that has one."""
    given = option if isinstance(option, Mapping) else dict.fromkeys(sample_ids, option)
    return {sample: given[sample] for sample in sample_ids if isinstance(given.get(sample), Uncertain)}  # type: ignore[misc]


def check_uncertain(option: ContentOption) -> None:
    """Refuse, with UsageError, a distribution that cannot be one."""
    for content in option.values() if isinstance(option, Mapping) else [option]:
        if not isinstance(content, Uncertain):
            continue
        for number in content:
            check_number("tumour_content", number)
        text = f"`tumour_content` {content.mean:g}±{content.sd:g}"
        try:
            TUMOUR_CONTENT.check(content.mean)
        except ValueError as fault:
            raise UsageError(f"{text}: the mean is {fault}") from None
        if not 0.0 < content.sd <= LARGEST_SD:
            raise UsageError(f"{text}: the standard deviation must be above 0 and at most {LARGEST_SD}")
        if content.sd < LEAST_SD:
            raise UsageError(
                f"{text}: the standard deviation must be at least {LEAST_SD:g}: give the number alone if it is certain"
            )


def _number(text: str) -> float:
    """As tables have them: in ASCII digits, with nothing between them."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return float(text)


def parse_tumour_content(texts: Sequence[str] | None) -> ContentOption:
    """The values of ``--tumour-content``, which may be given often: FLOAT, MEAN±SD (or MEAN+-SD), SAMPLE= one of these.

    Raises
    ------
    UsageError
        A text is none of these, a sample is named twice, or there is one for all samples and others.
    """
    by_sample: dict[str, Content] = {}
    everywhere: Content | None = None
    for text in texts or ():
        sample, equals, content = text.rpartition("=")
        try:
            numbers = [_number(number) for number in _PLUS_MINUS.split(content, maxsplit=1)]
        except ValueError:
            raise UsageError(
                f"`tumour_content` {text!r}: must be a number or SAMPLE=number, like S1=0.8; "
                "or with its standard deviation, like S1=0.8±0.05"
            ) from None
        value = Uncertain(*numbers) if len(numbers) == 2 else numbers[0]
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
    check_uncertain(option)
    return option
