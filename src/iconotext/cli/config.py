"""Options from variables and files, so that they need not be typed every time: Click's variables and default map.

The command line takes precedence over variables, these over the project's file, and that over the user's own:

- ``ICONOTEXT_LINK_MODEL=my-model`` is ``iconotext link --model my-model``;
- ``iconotext.toml`` in the working folder;
- ``iconotext.toml`` in the user's configuration folder, or the file that ``ICONOTEXT_CONFIG`` names.

A file has a table for each command: ``[link]``, ``[library.add]``. A project's file may come from anywhere, together
with the documents beside it. So it can set only the options in ``OF_A_PROJECT``, which access no other file, no network
and no model.
"""

from __future__ import annotations

import os
import re
import reprlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.output import complain
from iconotext.errors import SettingError
from iconotext.plain_text import did_you_mean
from iconotext.system.strict_json import parse_toml

# A list of what is allowed fails closed; a list of what is forbidden would have to grow with every option.
OF_A_PROJECT = frozenset(
    {f"link.{name}" for name in ("to", "evidence", "min-confidence", "explain", "include", "exclude")}
    | {f"{command}.{name}" for command in ("link", "library.add") for name in ("language", "captions", "epub", "k")}
    | {"link.min-side", "library.add.min-side", "link.quiet", "link.verbose"}
    | {f"check.{name}" for name in ("rules", "skip", "empty", "large", "max-length", "far", "include", "exclude")}
    | {"search.top", "search.relation", "search.json"}
)
"""Options that the file of a project may set."""

MAX_CHARACTERS = 16 * 2**10
"""Maximum length of a file: the parser's time for a key of many parts grows faster than the key."""

OLD_TABLE = re.compile(r"^\[tool\.iconotext[.\]]", re.MULTILINE)
"""A table of ``pyproject.toml`` that versions before 0.2 read."""

STATUS: dict[tuple[str, ...], int] = {("check",): 2}
"""Command to the exit status of a wrong setting, if that is not 1: 1 says that ``check`` has found something."""


class Configured:
    """Mixed into a command or a group of Typer: its options may also come from variables and from files."""

    path: tuple[str, ...] = ()
    """The words that call the command; none for the program itself."""

    params: list[Any]

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Make Click's context of a call; a wrong variable or file ends the program with one line."""
        options = {flag(p): p for p in self.params if p.param_type_name == "option" and not p.is_eager}
        with known_errors(status=STATUS.get(self.path, 1)):
            if not self.path and _has_old_table(Path("pyproject.toml")):
                complain("pyproject.toml: [tool.iconotext] is not read: move its tables to iconotext.toml beside it")
            # Click uses the default map after the command line and the environment, which gives the order above.
            values = self._from_files(options)
            self._check_variables(options)
            extra["default_map"] = {options[name].name: value for name, (value, _) in values.items()}
            try:
                return super().make_context(info_name, args, parent, **extra)  # type: ignore[misc]  # Click has it
            except typer.BadParameter as error:
                self._say_where(error, values)
                raise

    def _from_files(self, options: dict[str, Any]) -> dict[str, tuple[Any, str]]:
        """Option to its value, and to the file and key that set it."""
        values: dict[str, tuple[Any, str]] = {}
        for file, contents, is_project in _files():
            for key, value in self._own_table(contents).items():
                name = key.replace("_", "-")
                full_name = ".".join((*self.path, name))
                if name not in options:
                    self._check_command(key, value, options, str(file))
                    continue
                if is_project and full_name not in OF_A_PROJECT:
                    raise SettingError(
                        f"{file}: {full_name}: the file of a folder may not set this, since it may come from anywhere; "
                        f"say it on the command line, in the environment or in {user_file()}"
                    )
                if isinstance(value, dict):
                    raise SettingError(f"{file}: {full_name}: a value is needed, not a table")
                single = options[name].multiple and not isinstance(value, list)
                values[name] = ([value] if single else value), f"{file}: {full_name}"
        return values

    def _own_table(self, table: dict[str, Any]) -> dict[str, Any]:
        """The table of this command in the contents of a file; empty if there is none."""
        for word in self.path:
            inner = table.get(word, table.get(word.replace("-", "_")))
            table = inner if isinstance(inner, dict) else {}
        return table

    def _check_command(self, key: str, value: Any, options: dict[str, Any], file: str) -> None:
        """Raise ``SettingError`` unless a key of a file, which is no option, is a command with a table."""
        commands = getattr(self, "commands", {})
        if isinstance(value, dict) and key in commands:
            return
        where = f"{file}: {reprlib.repr('.'.join((*self.path, key)))}"
        if isinstance(value, dict) and commands:
            # A command is a table of the file, so it is proposed as it has to be written there.
            near = did_you_mean(key, list(commands)).replace("mean ", "mean [").replace("?", "]?")
            raise SettingError(f"{where}: no such command{near or '; `iconotext --help` names them'}")
        names = [".".join((*self.path, name)) for name in options]
        near = did_you_mean(".".join((*self.path, key)), names)
        raise SettingError(f"{where}: no such option{near or '; `iconotext COMMAND --help` names them'}")

    def _check_variables(self, options: dict[str, Any]) -> None:
        if hasattr(self, "commands"):
            return  # a group's prefix is also that of its commands, and of variables such as ICONOTEXT_CACHE_SIZE
        names = {variable(" ".join(self.path), name) for name in options}
        for name in sorted(os.environ):
            if name.startswith(variable(" ".join(self.path), "")) and name not in names:
                near = did_you_mean(name, names) or "; `iconotext COMMAND --help` names them"
                raise SettingError(f"{name}: no such option{near}")

    def _say_where(self, error: typer.BadParameter, values: dict[str, tuple[Any, str]]) -> None:
        """Raise ``SettingError`` for a wrong value that is not from the command line, with its place."""
        option, context = error.param, error.ctx
        source = context.get_parameter_source(option.name) if context and option and option.name else None
        if option is None or source is None or source.name not in ("ENVIRONMENT", "DEFAULT_MAP"):
            return
        name = str(option.envvar) if source.name == "ENVIRONMENT" else flag(option)
        value, where = (os.environ[name], name) if source.name == "ENVIRONMENT" else values[name]
        message = " ".join(error.message.split()).replace("Value error, ", "")
        raise SettingError(f"{where} = {reprlib.repr(value)}: {message}") from error


def flag(option: Any) -> str:
    """The name of an option without dashes in front."""
    return str(max(option.opts, key=len)).lstrip("-")


def variable(path: str, option: str) -> str:
    """The variable of an option."""
    return f"ICONOTEXT_{path}_{option}".upper().replace(" ", "_").replace("-", "_")


def words(name: str) -> list[str] | None:
    """Return the values of a variable for an option that may be given several times, written as on a command line."""
    try:
        return shlex.split(os.environ.get(name, "")) or None
    except ValueError as error:
        raise SettingError(f"{name}: {error}: write it as on a command line") from error


def user_file() -> Path:
    """The user's own file, which may be missing; ``SettingError`` if ``ICONOTEXT_CONFIG`` names a missing file."""
    path = os.environ.get("ICONOTEXT_CONFIG")
    if path and not Path(path).exists():
        raise SettingError(f"ICONOTEXT_CONFIG: {path}: no such file")
    return Path(path or Path(typer.get_app_dir("iconotext")) / "iconotext.toml")


def _files() -> Iterator[tuple[Path, dict[str, Any], bool]]:
    """Yield path and contents of each file, in ascending precedence, and whether it is the project's."""
    for path, is_project in ((user_file(), False), (Path("iconotext.toml"), True)):
        if path.is_file():
            yield path, _parsed(path, _text(path)), is_project


def _has_old_table(path: Path) -> bool:
    try:
        return OLD_TABLE.search(path.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:  # there is none, or it is not ours to complain about
        return False


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(MAX_CHARACTERS + 1)
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    if len(text) > MAX_CHARACTERS:
        raise SettingError(f"{path}: more than {MAX_CHARACTERS:,} characters, which no settings need")
    try:
        return parse_toml(text)
    except ValueError as error:
        raise SettingError(f"{path}: {error}") from error
