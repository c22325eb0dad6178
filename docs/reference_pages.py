"""The page of the reference that is made from the package: commands and their options."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import typer

from pyclone_pgsm.cli.app import app


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _default(parameter: Any) -> str:
    """What stands for the default: the value, or what the help says in brackets."""
    told = re.search(r"\[default: (.*)\]$", _help(parameter))
    if told:
        return told[1]
    if parameter.required:
        return "needed"
    value = parameter.default
    if value is None or value is False or callable(value):
        return ""
    return "yes" if value is True else f"`{value}`"


def _help(parameter: Any) -> str:
    return (parameter.help or "").replace("\\[", "[").strip()


def _option_row(option: Any) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    kind = "" if option.is_flag else f" `{option.metavar}`"
    text = re.sub(r"\s*\[default: .*\]$", "", _help(option))
    return names + kind, _default(option), html.escape(text, quote=False)


def _command_section(name: str, command: Any) -> str:
    parts = [f"## {name}", command.help or ""]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join(
        ["pyclone-pgsm", name, *(each.metavar or each.name.upper() for each in arguments), "[OPTIONS]"]
    )
    parts.append(f"```text\n{usage}\n```")
    if arguments:
        rows = [(f"`{each.metavar}`", html.escape(_help(each), quote=False)) for each in arguments]
        parts.append(_table(("argument", "meaning"), rows))
    panels: dict[str, list[tuple[str, str, str]]] = {}
    for each in options:
        panels.setdefault(each.rich_help_panel or "Options", []).append(_option_row(each))
    for panel, found in panels.items():
        if panel != "Options" or len(panels) > 1:
            parts.append(f"**{panel}**")
        parts.append(_table(("option", "default", "meaning"), found))
    title, *examples = command.epilog.split("\n\n")
    parts.append(f"{title}\n\n```sh\n" + "\n".join(examples) + "\n```")
    return "\n\n".join(part for part in parts if part)


def commands() -> str:
    """All commands, each with its arguments, options, defaults and examples."""
    group: Any = typer.main.get_command(app)
    return "\n\n".join(_command_section(name, command) for name, command in group.commands.items())


GENERATED: dict[str, Callable[[], str]] = {"commands": commands}
"""What a line ``<!-- NAME -->`` of a page stands for."""
