"""Conversion of the text of a cell to a number: what each column accepts, and the messages about anything else.

Every reader here takes a text without surrounding white space and returns a number, or raises ValueError with a message
that says what is wrong and what is expected.
"""

import math
import re
import sys
from dataclasses import dataclass
from numbers import Real as RealNumber

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.problems import CONTROL, EXCEL_ERROR, EXCEL_ERRORS

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SEPARATORS = re.compile("[,' \u00a0\u202f]")
_THOUSANDS = re.compile(rf"[+-]?[1-9]\d{{0,2}}({_SEPARATORS.pattern}\d{{3}})+(\.\d*)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_EXCEL_EXPONENT = re.compile(r"[+-]?\d(?:\.(\d*))?E\+(\d\d)", re.ASCII)
_NO_VALUE = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", ".", "-"})
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)

LARGEST_COUNT = 2**31 - 1
"""The largest whole number in a VCF. Real depths are far smaller, and tails of their distributions are summed read by
read."""

LARGEST_COPY_NUMBER = 1000
"""Real amplifications are smaller; larger numbers come from a wrong column."""

LARGEST_POSITION = 2**31 - 1
"""The largest position on a chromosome that BAM and BCF can store; no chromosome is as long."""


@dataclass(frozen=True)
class Whole:
    """Reader of whole numbers between two inclusive bounds. ``2.0`` and ``1e3`` are whole.

    ``1.5E+06`` is refused: Excel writes it for 1466887. Exponents of R (``1e+05``), Java and pandas lose no digits.
    """

    lowest: int
    highest: int
    expected: str
    """Description of the values of the column, for error messages."""
    if_unknown: str = ""
    """What to do if the value is unknown; appended to ``expected`` in the error message for an empty cell."""

    def __call__(self, text: str) -> int:
        expected = self.expected + (self.if_unknown if is_no_value(text) else "")
        value = finite_number(text, expected)
        if value < self.lowest:
            fault = "negative" if value < 0 else "too small"
        elif value > self.highest:
            fault = f"too large, above {self.highest}"
        elif not value.is_integer():
            fault = "fractional"
        elif _may_lack_digits(text):
            fault = (
                "rounded? Excel writes this also for other numbers; show the column there as numbers without decimals, "
                "and save again"
            )
        else:
            return int(value)
        raise ValueError(f"{fault}; expected {self.expected}")


LEAST_SHARE = 1e-9
"""Smaller shares of cells or reads cannot be observed: no sample has a billion reads of a locus."""
_ABOVE_0 = sys.float_info.min
_LEAST_PERCENTAGE = 2.0
"""Smaller numbers above 1 are more probably wrong shares than percentages."""


@dataclass(frozen=True)
class Real:
    """Reader of numbers between two bounds, of which ``highest`` is excluded if ``below``."""

    lowest: float
    highest: float
    expected: str
    """Description of the numbers, for error messages."""
    below: bool = False

    def __call__(self, text: str) -> float:
        value = finite_number(text, self.expected)
        self.check(value)
        return value

    def check(self, value: float) -> None:
        """Raise ValueError if the number is out of bounds or NaN."""
        if self.lowest <= value < self.highest or (value == self.highest and not self.below):
            return
        message = f"out of range; expected {self.expected}"
        if 0 < value < self.lowest:
            message += f", and at least {self.lowest:g}: no sample has enough reads to measure smaller values"
        if _LEAST_PERCENTAGE <= value <= 100:
            message += f". If this is a percentage, write {value / 100:g}"
        raise ValueError(message)


READS = Whole(
    0,
    LARGEST_COUNT,
    "a number of reads: a whole number, 0 or more",
    ". If nothing is known of the mutation in this sample, leave out the row, or write 0 for both counts",
)
COPIES = Whole(0, LARGEST_COPY_NUMBER, "a copy number: a whole number, 0 or more")
NORMAL_COPIES = Whole(
    1,
    LARGEST_COPY_NUMBER,
    "the copy number of normal cells: a whole number, 1 or more (2; 1 for X and Y in males)",
)
TUMOUR_CONTENT = Real(LEAST_SHARE, 1.0, "the share of cancer cells in the sample: above 0, at most 1")
SUBCLONAL_FRACTION = Real(
    _ABOVE_0,
    1.0,
    "the share of the tumour cells that hold the second copy-number state: above 0, below 1 (empty, as the other two "
    "subclonal columns, where there is one state)",
    below=True,
)
ERROR_RATE = Real(
    LEAST_SHARE, 0.5, "the probability of a wrong base in a read: above 0, below 0.5", below=True
)


@dataclass(frozen=True)
class Name:
    """Reader of names, such as a ``sample_id``."""

    what: str

    def __call__(self, text: str) -> str:
        if not text:
            raise ValueError(f"empty; every row needs a {self.what}")
        if text in EXCEL_ERRORS:
            raise ValueError(f"no {self.what}: {EXCEL_ERROR}")
        if CONTROL.search(text):
            raise ValueError(f"a {self.what} may not contain tabs, line breaks or other control characters")
        return text


def is_no_value(text: str) -> bool:
    """Whether a text denotes a missing value."""
    return text.lower() in _NO_VALUE


def _may_lack_digits(text: str) -> bool:
    """Whether Excel wrote an exponent (E, a sign and two digits), and fewer digits than the whole number has."""
    found = _EXCEL_EXPONENT.fullmatch(text)
    return found is not None and len(found[1] or "") < int(found[2])


def is_number(text: str) -> bool:
    """Whether a text spells a number, which may be infinite."""
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text))


def finite_number(text: str, expected: str) -> float:
    """Return the number that a text spells; one too large for a float becomes infinity.

    ValueError says what is wrong with any other text, or an infinite number, and what is expected.
    """
    if _NUMBER.fullmatch(text):
        return float(text)
    if is_no_value(text):
        fault = "no value"
    elif _INFINITE.fullmatch(text):
        fault = "infinite"
    elif _THOUSANDS.fullmatch(text):
        fault = f"separators of thousands are not read: write {_SEPARATORS.sub('', text)}"
        if _DECIMAL_COMMA.fullmatch(text):
            fault += f", or {text.replace(',', '.')} if the comma is a decimal one"
    elif _DECIMAL_COMMA.fullmatch(text):
        fault = "not a number: write a decimal point, not a comma"
    elif text.endswith("%") and _NUMBER.fullmatch(number := text.removesuffix("%").strip()):
        fault = f"not a number: write a share, {float(number) / 100:g} for {number} %"
    else:
        fault = "not a number"
    raise ValueError(f"{fault}; expected {expected}")


def checked(parameter: str, value: float | None, share: Real, sample: str | None = None) -> float | None:
    """Return a share given as a parameter, or None; raise UsageError if it is not a number, or is out of range.

    ``sample`` is the one of which it is given; None if it is for all.
    """
    if value is None:
        return None
    given = f"`{parameter}` " + ("" if sample is None else f"{sample}=")
    if isinstance(value, bool) or not isinstance(value, RealNumber):
        raise UsageError(f"{given}{value!r}: not a number; expected {share.expected}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    try:
        share.check(number)
    except ValueError as fault:
        raise UsageError(f"{given}{number:g}: {fault}") from None
    return number


def gene(text: str) -> str:
    """Return the name of a gene in one line; "" for a missing one."""
    return "" if is_no_value(text) else one_line(text)


def one_line(text: str) -> str:
    """Replace control characters and white space in an annotation by single spaces."""
    return " ".join(CONTROL.sub(" ", text).split())
