"""Tumour contents as the user writes them."""

from __future__ import annotations

import pytest

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.tumour_content import Uncertain, checked_means, parse_tumour_content, uncertain


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (None, None),
        ([], None),
        (["0.8"], 0.8),
        (["0.8±0.05"], Uncertain(0.8, 0.05)),
        (["S1=0.8", "S2=0.7+-0.1"], {"S1": 0.8, "S2": Uncertain(0.7, 0.1)}),
        (["a=b=0.7+/-0.1"], {"a=b": Uncertain(0.7, 0.1)}),
        (["S±1=0.7 ± 1e-2"], {"S±1": Uncertain(0.7, 0.01)}),
        (["S1=1±0.1"], {"S1": Uncertain(1.0, 0.1)}),
    ],
)
def test_parse(texts: list[str] | None, expected: object) -> None:
    assert parse_tumour_content(texts) == expected


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["half"],
            "`tumour_content` 'half': not a number; expected a number or SAMPLE=number, like S1=0.8; or with its",
        ),
        (["S1=0.8±"], "`tumour_content` 'S1=0.8±': no value; expected a number or SAMPLE=number"),
        (["60%"], "`tumour_content` '60%': not a number: write a share, 0.6 for 60 %; expected a number"),
        (["S1=6.5 %±1"], "`tumour_content` 'S1=6.5 %±1': not a number: write a share, 0.065 for 6.5 %"),
        (["S1=0,6"], "`tumour_content` 'S1=0,6': not a number: write a decimal point, not a comma"),
        (["0.8±0.1±0.1"], "`tumour_content` '0.8±0.1±0.1': not a number; expected"),
        (["S1=0.8", "S1=0.7"], "`tumour_content` 'S1=0.7': sample 'S1' is given twice"),
        (["0.8", "0.7"], "`tumour_content`: one number for all samples is enough"),
        (["0.8", "S1=0.7"], "`tumour_content`: give one number for all samples, or one for each, not both"),
        (
            ["80±5"],
            "`tumour_content` 80±5: the mean is out of range; expected the share of cancer cells in the",
        ),
        (["S1=80±5"], "If this is a percentage, write 0.8"),
        (["0.8±0"], "`tumour_content` 0.8±0: the standard deviation must be above 0 and at most 0.5"),
        (["0.8+-0.6"], "`tumour_content` 0.8±0.6: the standard deviation must be above 0 and at most 0.5"),
        (["0.8±nan"], "`tumour_content` '0.8±nan': no value; expected a number"),
        (["nan±0.1"], "`tumour_content` 'nan±0.1': no value; expected a number"),
    ],
)
def test_texts_that_cannot_be(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_tumour_content(texts)
    assert message in str(caught.value)


def test_means_and_distributions() -> None:
    known = Uncertain(0.8, 0.1)
    assert checked_means(None) is None
    assert checked_means(0.7) == 0.7
    assert checked_means(known) == 0.8
    assert checked_means({"a": 0.7, "b": known}) == {"a": 0.7, "b": 0.8}
    assert uncertain(None, ["a"]) == uncertain(0.7, ["a"]) == {}
    assert uncertain(known, ["a", "b"]) == {"a": known, "b": known}
    assert uncertain({"a": 0.7, "b": known}, ["a", "b", "c"]) == {"b": known}
