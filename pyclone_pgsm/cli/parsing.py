"""Parsing of options: from text on the command line to the library's values."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.text import file_stem
from pyclone_pgsm.ranges import PICTURE_FORMATS, Effects, check_effects

if TYPE_CHECKING:
    import typer

    from pyclone_pgsm.analyses.run import ResultOptions
    from pyclone_pgsm.priors import Prior
    from pyclone_pgsm.sampling.settings import Settings

LONGEST_SHOWN = 60


def parse_number(name: str, text: str, word: str, kind: type[float] | type[int]) -> Any:
    """Return None for `word`, else the number."""
    if text == word:
        return None
    try:
        return kind(text)
    except ValueError:
        number = "a whole number" if kind is int else "a number"
        raise UsageError(f"--{name} {_short(text)}: must be {word!r} or {number}") from None


def _short(text: str, show: Callable[[str], str] = repr) -> str:
    return show(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def parse_parameters(texts: list[str] | None) -> dict[str, Any]:
    """Return the values of ``--param NAME=VALUE``: numbers, words, or lists of them as in JSON."""
    parameters: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not value:
            raise UsageError(f"--param {text!r}: must be NAME=VALUE, like r0=0.1 or u0=[0,1.5]")
        if name in parameters:
            raise UsageError(f"--param {text!r}: {name} is given twice")
        try:
            parameters[name] = json.loads(value)
        except (ValueError, RecursionError):
            if value[0] in "[{":
                raise UsageError(
                    f"--param {_short(text)}: {_short(value, str)} is no list as in JSON, like [0,1.5]"
                ) from None
            parameters[name] = value
    return parameters


def parse_formats(text: str) -> list[str]:
    """Return the formats of the pictures."""
    formats = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in formats:
        if name not in PICTURE_FORMATS:
            raise UsageError(
                f"--format {text!r}: must be one or more of {', '.join(PICTURE_FORMATS)}, as in png,pdf"
            )
    return formats


def given_options(context: typer.Context) -> set[str]:
    """Return the names of the options that the user gave, also of those given with their default."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def refuse_ineffective(context: typer.Context, effects: Effects) -> None:
    """Refuse, with UsageError, options that have no effect with the others, also if their value is the default."""
    check_effects(given_options(context), context.params, effects)


def sampling_plan(context: typer.Context) -> tuple[Settings, Prior]:
    """Return settings and partition prior from the options of a command."""
    from pyclone_pgsm.priors import EFFECTS, make_prior
    from pyclone_pgsm.sampling.chains import effective_threads
    from pyclone_pgsm.sampling.settings import OF_PARTICLES, Settings

    given, chosen = context.params, given_options(context)
    names = [field.name for field in fields(Settings) if field.name in given]
    iterations = parse_number("iterations", given["iterations"], "auto", int)
    settings = Settings(**{name: given[name] for name in names} | {"iterations": iterations})
    settings.check_effects(chosen)
    if settings.sampler is None and not chosen.isdisjoint(OF_PARTICLES):
        settings = replace(settings, sampler="mixed")  # also where a value that is given is the default
    effective_threads(given["threads"], settings.chains)
    discount = parse_number("discount", given["discount"], "infer", float)
    prior = make_prior(
        given["prior"], given["concentration"], given["concentration_prior"], discount, given["max_clusters"]
    )
    refuse_ineffective(context, EFFECTS)
    return settings, prior


def result_options(context: typer.Context) -> ResultOptions:
    """Return the options for writing results from the options of a command."""
    from pyclone_pgsm.analyses.results import PAGES
    from pyclone_pgsm.posterior.states import Thresholds, checked_thresholds
    from pyclone_pgsm.posterior.summarize import check_criterion

    given = context.params
    formats, pages = parse_formats(given["formats"]), [name for name in PAGES if given[name]]
    if not given["plots"] and "formats" in given_options(context):
        raise UsageError(f"--format {given['formats']}: has no effect with --no-plots: leave one of them out")
    check_criterion(given["consensus"])
    chosen: ResultOptions = {
        "criterion": given["consensus"],
        "formats": formats if given["plots"] else [],
        "pages": pages,
    }
    if "present_above" in given:
        chosen["thresholds"] = checked_thresholds(Thresholds(given["present_above"], given["clonal_above"]))
    return chosen


def default_folder(data: Path, ending: str = "_pyclone_pgsm") -> Path:
    """Return the default output folder, named after the first file of the data."""
    return Path(file_stem(data) + ending)


def split_sample(text: str) -> tuple[str | None, str]:
    """Split ``SAMPLE=FILE`` into sample and file, unless the whole text is the name of an existing file."""
    sample, equals, file = text.partition("=")
    return (sample, file) if equals and not Path(text).exists() else (None, text)


def command_line() -> str:
    """Return the running command, quoted as in a shell."""
    return shlex.join(["pyclone-pgsm", *sys.argv[1:]])
