"""The table of all commands, and the groups that are made of it; a command's module is imported when it is needed.

``COMMANDS`` is the table. Other packages add commands with entry points in the group ``iconotext.commands``: the name
of an entry point is the command, and its object a function with Typer's annotations, or a ``typer.Typer``.
"""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from iconotext.cli.common import known_errors
from iconotext.cli.config import Configured, flag, variable, words
from iconotext.cli.help import MORE, PlainHelp
from iconotext.corpus.builders import BUILDERS
from iconotext.system.plugins import say_broken

PLUGINS = "iconotext.commands"
"""Group of the entry points of other packages."""

HELP = ["-h", "--help"]
"""The options that show help."""


@dataclass(frozen=True)
class Command:
    """A row of the table: a command, or a group of commands.

    Attributes:
        path: The words that call it.
        function: Its module in ``iconotext.cli`` and the function; of a builder its module in ``iconotext``; empty for
            a group whose own call only shows help.
        extra: The extra of this package that it needs.
        panel: Its heading in the list of its group.
        examples: Commands that the help of a group without a function shows.
    """

    path: str
    summary: str
    function: str = ""
    extra: str = ""
    panel: str | None = None
    examples: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The whole command, as it is typed."""
        return f"iconotext {self.path}"

    @property
    def group(self) -> str:
        """The path of its group; empty for a command of the program itself."""
        return self.path.rpartition(" ")[0]

    @property
    def help(self) -> str:
        """The summary and the examples, for a group without a function."""
        return "\n".join([self.summary, "", "**Examples**", "", *(f"- `{example}`" for example in self.examples)])


COMMANDS = (
    Command("link", "Find which sentences each picture belongs to.", "link:link"),
    Command("context", "Give for each picture the sentences that speak about it.", "excerpts:context"),
    Command("chunks", "Cut documents into chunks for retrieval, with their pictures.", "excerpts:chunks"),
    Command("place", "Place pictures in a text that has none, each at its sentence.", "place:place"),
    Command("check", "Find what is wrong with the pictures of documents.", "check:check"),
    Command(
        "alt-text",
        "Draft alternative texts that are missing.",
        examples=("iconotext alt-text draft docs/ --captioner http://127.0.0.1:8080/v1",),
    ),
    Command("alt-text draft", "Draft alternative texts for pictures that have none.", "alt_text:draft"),
    Command("demo", "Write an example article with photographs and link it.", "link:demo", "demo"),
    Command("search", "Find pictures for a sentence, in a library.", "search:search", "library"),
    Command("serve", "Read linked documents in the browser, and correct their links.", "serve:serve", "web"),
    Command("train", "Train a model on documents, without a labelled link.", "train:train", "train"),
    Command("evaluate", "Measure how well a model finds the gold links of a corpus.", "evaluate:evaluate"),
    Command(
        "library",
        "Make, update and inspect a library of pictures.",
        extra="library",
        examples=("iconotext library add lib photos/ docs/", "iconotext library list lib"),
    ),
    Command("library add", "Put pictures into a library, or bring it up to date.", "library:add", "library"),
    Command("library remove", "Remove the pictures that were added from a path.", "library:remove", "library"),
    Command("library list", "Show what a library contains.", "library:list_", "library"),
    Command(
        "corpus",
        "Check, count, convert, divide and build corpora.",
        examples=(
            "iconotext corpus build folder --source docs/ --output corpus.jsonl",
            "iconotext corpus check corpus.jsonl",
        ),
    ),
    Command("corpus check", "List everything that is wrong with a corpus.", "corpus:check"),
    Command("corpus convert", "Write a corpus in another format.", "corpus:convert"),
    Command("corpus split", "Divide a corpus into train, validation and test, at random.", "corpus:split"),
    Command("corpus stats", "Count documents, sentences, images and links.", "corpus:stats"),
    Command(
        "corpus build",
        "Make a corpus from documents or captioned photographs.",
        examples=("iconotext corpus build folder --source docs/ --output corpus.jsonl",),
    ),
    *(Command(f"corpus build {builder.name}", builder.summary, builder.module) for builder in BUILDERS),
    Command(
        "scale",
        "Link many documents in shards, in many processes.",
        extra="scale",
        examples=("iconotext scale link shards/ --output linked/",),
    ),
    Command("scale link", "Link the documents of shards.", "scale:link", "scale"),
    Command("mcp", "Answer a language model about the documents of a folder.", "serve:mcp", "mcp"),
    Command("models", "List models; check or fetch those that are named.", "models:models"),
    Command("cache", "Show the place, size and contents of the cache.", "models:cache"),
)

SHOWN = {
    "link": "to output model evidence min-confidence explain relations root include exclude fetch",
    "context": "words output evidence relations root include exclude fetch json prompt model",
    "chunks": "words tokens tokenizer once full output evidence include exclude json model",
    "place": "min-confidence most output json evidence root include exclude fetch model",
    "check": "rules skip far empty root include exclude json sarif baseline write-baseline",
    "alt-text draft": "captioner captioner-model allow-remote max-pictures replace write from yes json exclude",
    "serve": "root data library write captioner captioner-model host port allow model",
    "evaluate": "split evidence compare results json pool force download",
    "library add": "model evidence relations language root include exclude fetch min-side download json",
    "corpus build folder": "source output links validation test language root include exclude fetch force",
    "corpus build captions": "source output pairs versions format images validation test seed download force",
    "scale link": "output to sample images executor tasks workers model min-confidence",
}
"""The options of commands with many that stand at the top of their help; the others stand under ``MORE``."""

IN_FULL = "What each option does in full: docs/options.md"
"""The last line of the help of our commands."""

READS = frozenset({"link", "context", "chunks", "place", "check", "alt-text", "demo"})
"""Commands that read documents, so that the process that reads them can start early."""

MANAGES = frozenset({"serve", "train", "scale", "mcp"})
"""Commands that answer clients or manage other processes, and need time to end these."""


def inside(group: str) -> dict[str, Command]:
    """The commands of a group by their last words, in order; of the program itself for an empty path."""
    return {row.path.split()[-1]: row for row in COMMANDS if row.group == group}


class ConfiguredCommand(Configured, PlainHelp, TyperCommand):
    """A command whose options may come from variables and files."""


class Group(Configured, PlainHelp, TyperGroup):
    """A group whose commands are imported when they are used, not when they are listed."""

    _listing = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self)

    @property
    def rows(self) -> dict[str, Command]:
        """The commands of the group by name."""
        return inside(" ".join(self.path))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return its commands, and behind those of the program the ones that other packages add."""
        return [*self.rows, *([] if self.path else sorted(added() - self.rows.keys()))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or while commands are listed a stand-in with its summary; None if there is none."""
        if not self._listing:
            return self.commands.get(cmd_name)
        row = self.rows.get(cmd_name)
        summary = row.summary if row else _package_summary(added()[cmd_name])
        panel = row.panel if row else "Commands of other packages"
        return TyperCommand(cmd_name, help=summary, rich_help_panel=panel, rich_markup_mode="markdown")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self._listing = True  # to the end: the program ends with its help
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the names of commands."""
        self._listing = True
        completed = super().shell_complete(ctx, incomplete)
        self._listing = False
        return completed


class _Commands(UserDict[str, Any]):
    """The commands of a group by name; each is imported when it is accessed."""

    def __init__(self, group: Group) -> None:
        self._group = group
        super().__init__()

    def __iter__(self) -> Any:
        return iter(self._group.rows)

    def __len__(self) -> int:
        return len(self._group.rows)

    def __contains__(self, name: object) -> bool:
        return name in self._group.rows or (not self._group.path and name in added())

    def __missing__(self, name: str) -> Any:
        row = self._group.rows.get(name)
        command = _loaded(row) if row else _loaded_plugin(name)
        if row:
            command.epilog = IN_FULL
        if command is not None:
            self.data[name] = command
        return command


@cache
def added() -> dict[str, EntryPoint]:
    """The commands of other packages, none of which is imported."""
    return {point.name: point for point in entry_points(group=PLUGINS)}


def _package_summary(point: EntryPoint) -> str:
    if point.dist is None:
        return ""
    return f"{(point.dist.metadata['Summary'] or '').removesuffix('.')} ({point.dist.name})".strip()


def _loaded(row: Command) -> Any:
    function: Any
    if row.group == "corpus build":
        from iconotext.cli.corpus import builder_command

        function = builder_command(next(builder for builder in BUILDERS if builder.name == row.path.split()[-1]))
    else:
        function = resolve_name(f"iconotext.cli.{row.function}") if row.function else None
    if not inside(row.path):
        return _made(row.path, function)
    # A group with a function of its own runs it where no command follows.
    alone: Any = {"invoke_without_command": True} if function else {"no_args_is_help": True, "help": row.help}
    group = typer.Typer(cls=Group, rich_markup_mode="markdown", **alone)
    if function:
        group.callback()(function)
    return _made(row.path, group)


def _loaded_plugin(name: str) -> Any:
    """Return the command of another package; None, with a line on stderr, if it cannot be imported."""
    point = added()[name]
    try:
        plugin = point.load()
        if isinstance(plugin, typer.Typer):
            return _made(name, plugin)

        @wraps(plugin)
        def run(*arguments: Any, **options: Any) -> None:
            with known_errors():
                plugin(*arguments, **options)

        return _made(name, run)
    except (Exception, SystemExit) as error:  # code of others, which may fail in any way
        say_broken(point, f"{type(error).__name__}: {error}")
        return None


def _made(path: str, command: Any) -> Any:
    """Return Click's command of a function, or Click's group of a ``typer.Typer``."""
    name = path.split()[-1]
    # Typer makes only a whole program, of which this is the one command.
    program = typer.Typer(rich_markup_mode="markdown")
    if isinstance(command, typer.Typer):
        program.add_typer(command, name=name)
    else:
        program.command(name, cls=ConfiguredCommand)(command)
    made: Any = get_group(program).commands[name]
    _configure(made, path)
    return made


def _configure(command: Any, path: str) -> None:
    """Let the options of a command, or of all commands of another package's group, come from variables and files.

    Such a group takes part with the commands whose class is ``ConfiguredCommand``.
    """
    if isinstance(command, Configured):
        command.path = tuple(path.split())
        _arrange(command, path)
    elif isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            _configure(inner, f"{path} {name}")


def _arrange(command: Any, path: str) -> None:
    """Give options their variables, and their place in the help."""
    names = SHOWN.get(path, "").split()
    for option in command.params:
        if option.param_type_name != "option" or option.is_eager:
            continue
        option.envvar = variable(path, flag(option))
        option.show_envvar = False
        option.rich_help_panel = MORE if names and flag(option) not in names else None
        if option.multiple:  # Click would split at every space
            option.value_from_envvar = lambda ctx, name=option.envvar: words(name)  # the name of this turn of the loop
    order = {name: number for number, name in enumerate(names)}
    command.params.sort(key=lambda p: order.get(flag(p), len(order)))
