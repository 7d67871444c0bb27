"""Options from the environment and from files, so that they need not be typed every time (``configured``).

The command line takes precedence over the environment, the environment over the project's file, and that over the
user's own:

- ``ICONOTEXT_LINK_MODEL=my-model`` is ``iconotext link --model my-model``;
- ``iconotext.toml`` in the working folder, else ``[tool.iconotext]`` in its ``pyproject.toml``;
- ``iconotext.toml`` in the user's configuration folder, or the file that ``ICONOTEXT_CONFIG`` names.

A file has a table for each command: ``[link]``, ``[library.add]``. A project's file may come from anywhere, together
with the documents beside it. So it can set only the options in ``OF_A_PROJECT``, which access no other file, no network
and no model.
"""

from __future__ import annotations

import os
import reprlib
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from iconotext.errors import SettingError
from iconotext.plain_text import did_you_mean
from iconotext.system.strict_json import parse_toml

OF_A_PROJECT = frozenset(
    {f"link.{name}" for name in ("to", "select", "evidence", "min-confidence", "explain", "include", "exclude")}
    | {f"{command}.{name}" for command in ("link", "library.add") for name in ("language", "captions", "epub", "k")}
    | {"link.min-side", "library.add.min-side", "link.quiet", "link.verbose"}
    | {f"alt-text.check.{name}" for name in ("rules", "skip", "empty", "large", "max-length", "include", "exclude")}
    | {"search.top", "search.relation", "search.json"}
)
"""Options that the file of a project may set."""

MAX_CHARACTERS = 16 * 2**10
"""Maximum length of a file, or of our tables in it: the parser's time for a key of many parts grows faster than the
key.
"""

Options = Mapping[str, Any]
"""Options of the command line by their dotted names, such as ``library.add.model``."""


def configured(context: typer.Context) -> dict[str, Any]:
    """The options of environment and files for the command that is about to run, for ``Context.default_map``.

    Raises:
        SettingError: A file cannot be read; an option has an unknown name, a wrong value, or may not be set there.
    """
    group: Any = context.command
    command = str(context.invoked_subcommand)
    prefix, commands = f"ICONOTEXT_{command.upper().replace('-', '_')}_", group.list_commands(context)
    files = [(path, _of_command(table, command, commands, path), own) for path, table, own in _files()]
    if not any(table for _, table, _ in files) and not any(name.startswith(prefix) for name in os.environ):
        return {}  # a group's commands, which may be many, need not be imported
    options = dict(_options(group.get_command(context, command), f"{command}."))
    found = []
    for path, table, own in files:
        for name, value in _flat(table, options, str(path)):
            if not own:
                _check_project(name, str(path))
            found.append((name, value, f"{path}: {name}"))
    for variable, name in _variables(options, prefix):
        found.append((name, _words(variable) if options[name].multiple else os.environ[variable], variable))
    result: dict[str, Any] = {}
    for name, value, where in found:
        table = result
        for part in name.split(".")[:-1]:
            table = table.setdefault(part, {})
        table[options[name].name] = _checked(context, options[name], value, where)
    return result


def user_file() -> Path:
    """The user's own file, which may be missing; ``SettingError`` if ``ICONOTEXT_CONFIG`` names a missing file."""
    named = os.environ.get("ICONOTEXT_CONFIG")
    if named and not Path(named).exists():
        raise SettingError(f"ICONOTEXT_CONFIG: {named}: no such file")
    return Path(named or Path(typer.get_app_dir("iconotext")) / "iconotext.toml")


def _options(command: Any, above: str) -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _options(inner, f"{above}{name}.")
    for option in command.params:
        if option.param_type_name == "option" and not option.is_eager:
            yield above + max(option.opts, key=len).lstrip("-"), option


def _files() -> Iterator[tuple[Path, dict[str, Any], bool]]:
    """Path and contents of each file, in ascending precedence, and whether it is the user's own."""
    own, project, pyproject = user_file(), Path("iconotext.toml"), Path("pyproject.toml")
    yield own, _parsed(own, _text(own)), True
    if project.is_file():
        yield project, _parsed(project, _text(project)), False
    else:
        found = _parsed(pyproject, _our_tables(_text(pyproject)))
        yield pyproject, found.get("tool", {}).get("iconotext", {}), False


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(2**20)
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error


def _our_tables(pyproject: str) -> str:
    """Our tables in a ``pyproject.toml``, without the others, which may be invalid."""
    lines, ours = [], False
    for line in pyproject.splitlines():
        if line.startswith("["):
            ours = line.startswith(("[tool.iconotext.", "[tool.iconotext]"))
        if ours:
            lines.append(line)
    return "\n".join(lines)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise SettingError(f"{path}: more than {MAX_CHARACTERS:,} characters, which no settings need")
    try:
        return parse_toml(text)
    except ValueError as error:
        raise SettingError(f"{path}: {error}") from error


def _of_command(table: Mapping[str, Any], command: str, commands: list[str], path: Path) -> dict[str, Any]:
    """The options in a file for one command; ``SettingError`` if the file names an unknown command."""
    for name, value in table.items():
        where = f"{path}: {reprlib.repr(name)}"
        if not isinstance(value, dict):
            raise SettingError(f"{where}: no such option; `iconotext COMMAND --help` names them")
        if name not in commands:
            near = did_you_mean(name, commands).replace("mean ", "mean [").replace("?", "]?")
            raise SettingError(f"{where}: no such command{near or '; `iconotext --help` names them'}")
    return {command: table[command]} if command in table else {}


def _flat(table: Mapping[str, Any], options: Options, where: str, above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = above + key.replace("_", "-")
        if name in options:
            yield name, value
        elif isinstance(value, dict) and any(option.startswith(f"{name}.") for option in options):
            yield from _flat(value, options, where, f"{name}.")
        else:
            raise SettingError(f"{where}: {reprlib.repr(above + key)}: no such option{_near(name, options)}")


def _variables(options: Options, prefix: str) -> Iterator[tuple[str, str]]:
    names = {f"ICONOTEXT_{name.upper().replace('.', '_').replace('-', '_')}": name for name in options}
    for variable in sorted(os.environ):
        if variable in names:
            if os.environ[variable]:
                yield variable, names[variable]
        elif variable.startswith(prefix):
            raise SettingError(f"{variable}: no such option{_near(variable, names)}")


def _words(variable: str) -> list[str]:
    try:
        return shlex.split(os.environ[variable])
    except ValueError as error:
        raise SettingError(f"{variable}: {error}: write it as on a command line") from error


def _near(name: str, names: Options) -> str:
    return did_you_mean(name, names) or "; `iconotext COMMAND --help` names them"


def _check_project(name: str, where: str) -> None:
    """Raise ``SettingError`` for an option that the file of a project may not set."""
    if name not in OF_A_PROJECT:
        raise SettingError(
            f"{where}: {name}: the file of a folder may not set this, since it may come from anywhere; say it on "
            f"the command line, in the environment or in {user_file()}"
        )


def _checked(context: typer.Context, option: Any, value: Any, where: str) -> Any:
    if option.multiple and not isinstance(value, list):
        value = [value]
    if isinstance(value, dict):
        raise SettingError(f"{where}: a value is needed, not a table")
    try:
        result = option.process_value(context, value)
    except typer.BadParameter as error:
        said = " ".join(error.message.split()).replace("Value error, ", "")
        raise SettingError(f"{where} = {reprlib.repr(value)}: {said}") from error
    return result if isinstance(result, bool) else value
