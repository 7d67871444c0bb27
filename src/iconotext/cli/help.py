"""What ``--help`` prints: plain text with one line an option, the same on a terminal and in a pipe.

The line of an option is the first sentence of its help, with choices, default and range. The whole help stands on the
page of options, which ``scripts/docs_tables.py`` makes of the same rows.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from iconotext.cli.output import say

NAMES = 25
"""Maximum width of the column of names; the text of a longer name begins on the next line."""

MORE = "More options"
"""Heading of the options that stand below all others."""

TYPES = {"directory": "FOLDER", "float": "N", "integer": "N"}
"""Click's name of a type to its name in the help, if it is another one."""

DEFAULT = re.compile(r" \((default: [^()]*)\)$")
"""The default at the end of a sentence, which comes behind the choices."""

EXAMPLES = re.compile(r"\*\*(Examples?)\*\*\n\n")


@dataclass(frozen=True)
class Row:
    """A row of a help screen: an option, an argument or a command.

    Attributes:
        name: Its flags, and the name of the value.
        text: The whole help; the first sentence is shown.
        choices: The values that there are, unless the name has them.
        default: As in ``default: 3``; empty if there is none, or the text has it.
        limits: Smallest and largest value, in words.
    """

    name: str
    text: str
    choices: tuple[str, ...] = ()
    default: str = ""
    limits: str = ""

    def lines(self, width: int) -> list[str]:
        """The first sentence with choices and default; with two limits where they need no further line."""
        sentence, *default = DEFAULT.split(first_sentence(self.text))
        notes = [*filter(None, [", ".join(self.choices), self.default]), *default[:1]]
        without, whole = (
            textwrap.wrap(f"{sentence} ({'; '.join(notes)})" if notes else sentence, width, break_on_hyphens=False)
            for notes in (notes, [*notes, self.limits] if " to " in self.limits else notes)
        )
        return (whole if len(whole) < 2 else without) or [""]


class PlainHelp:
    """Mixed into a command or a group of Typer, whose help is then that of this module."""

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete commands and options; shells show the line of each."""
        completed = super().shell_complete(ctx, incomplete)  # type: ignore[misc]  # Click has it
        for item in completed:
            item.help = first_sentence(item.help or "")
        return completed

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments of a call; without any, a group prints its help."""
        command: Any = self
        if not args and command.no_args_is_help and not ctx.resilient_parsing:
            say(ctx.get_help())  # Typer's own message for this is empty, since it expects Rich to have printed
            ctx.exit(2)
        return super().parse_args(ctx, args)  # type: ignore[misc]  # Click has it

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        command: Any = self
        width = formatter.width
        sections = [_section(heading, rows, width) for heading, rows in panels(command, ctx).items()]
        parts = [command.get_usage(ctx), *_paragraphs(command.help, width), *sections]
        formatter.write("\n\n".join([*parts, *_paragraphs(command.epilog, width)]) + "\n")


def panels(command: Any, ctx: Any) -> dict[str, list[Row]]:
    """Headings of a command's help, each with its rows."""
    found: dict[str, list[Row]] = {"Arguments": []}
    for name in command.list_commands(ctx) if hasattr(command, "commands") else ():
        inner = command.get_command(ctx, name)
        summary = (inner.short_help or inner.help or "").partition("\n\n")[0]
        found.setdefault(inner.rich_help_panel or "Commands", []).append(Row(name, summary))
    found |= {"Options": [], MORE: []}
    for param in command.get_params(ctx):
        if param.param_type_name == "argument":
            name = param.metavar or param.name.upper()
            found["Arguments"].append(Row(name, param.help or "", default=_default(param, ctx)))
        elif not param.hidden:
            name, choices = _name(param), _choices(param)
            shown = () if "|".join(choices) in name else choices
            row = Row(name, param.help or "", shown, _default(param, ctx), _limits(_type(param)))
            found[getattr(param, "rich_help_panel", None) or "Options"].append(row)
    return {heading: rows for heading, rows in found.items() if rows}


def first_sentence(text: str) -> str:
    """The first sentence without its full stop and without Markdown's marks of code, on one line."""
    return plain(re.split(r"(?<=\.)\s", text, maxsplit=1)[0].removesuffix("."))


def plain(text: str) -> str:
    """A text on one line, without Markdown's marks of code."""
    return " ".join(text.replace("`", "").split())


def _paragraphs(text: str | None, width: int) -> Iterator[str]:
    about, *examples = EXAMPLES.split(text or "")
    for paragraph in filter(None, re.split(r"\n\s*\n", about.strip())):
        yield textwrap.fill(plain(paragraph), width, break_on_hyphens=False)
    if examples:  # the heading, and a list of commands
        commands = [f"  {plain(command)}" for command in re.split(r"^- ", examples[1], flags=re.MULTILINE)[1:]]
        yield "\n".join([f"{examples[0]}:", *commands])


def _section(heading: str, rows: list[Row], width: int) -> str:
    column = min(max(len(row.name) for row in rows), NAMES)
    lines = [f"{heading}:"]
    for row in rows:
        first, *others = row.lines(width - column - 4)
        fits = len(row.name) <= column
        lines += [f"  {row.name:{column}}  {first}"] if fits else [f"  {row.name}", f"{'':{column + 4}}{first}"]
        lines += [f"{'':{column + 4}}{other}" for other in others]
    return "\n".join(lines)


def _name(option: Any) -> str:
    """The flags of an option, as in ``-o, --output FILE`` and ``--[no-]fetch``, and the name of its value."""
    *short, long = sorted(option.opts, key=len)
    flags = ", ".join([*short, f"--[no-]{long[2:]}" if option.secondary_opts else long])
    kind = getattr(_type(option), "name", "").removesuffix(" range")
    choices = "|".join(_choices(option))
    value = option.metavar or (choices if len(flags) + len(choices) < NAMES else "") or TYPES.get(kind, kind.upper())
    return flags if option.is_flag else f"{flags} {value}"


def _type(option: Any) -> Any:
    """The type of an option's value; None where a version of Typer gives a flag none."""
    return getattr(option, "type", None)


def _choices(option: Any) -> tuple[str, ...]:
    return tuple(str(getattr(choice, "value", choice)) for choice in getattr(_type(option), "choices", ()))


def _default(param: Any, ctx: Any) -> str:
    value = param.show_default
    if value is True:
        value = param.get_default(ctx, call=False)
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    elif isinstance(value, float):
        value = f"{value:g}"
    if value in (None, "") or value is False:
        return ""
    return f"default: {'on' if value is True else value.value if isinstance(value, Enum) else value}"


def _limits(kind: Any) -> str:
    """The range of a number in words."""
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        return f"{least} to {most}"
    return f"at least {least}" if least is not None else f"at most {most}" if most is not None else ""
