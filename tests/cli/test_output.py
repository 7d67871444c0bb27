from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

import iconotext
from iconotext.cli.app import app
from iconotext.cli.output import OPTIONS, as_typed, complain, output_console, say, say_json
from iconotext.plain_text import readable

CLI = Path(iconotext.__file__).parent / "cli"
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\u202eb"


def test_what_is_said_acts_on_no_terminal(capsys):
    say(HOSTILE)
    complain(f"{HOSTILE}\nsecond \ud800 line")
    say_json({"name": HOSTILE})
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "a[31mred]0;title2Jb"
    assert said.err == "iconotext: a[31mred]0;title2Jb second \ufffd line\n"
    assert readable(said.out) == said.out
    assert json.loads(said.out.splitlines()[1]) == {"name": HOSTILE}


def test_tables_act_on_no_terminal_and_keep_their_own_colours():
    from rich.table import Table

    table = Table("name", title=HOSTILE)
    table.add_row(HOSTILE)
    table.add_row("[bold]a[/bold] [/] :cat: [link=https://evil.org]")
    console = output_console()
    console.file = io.StringIO()
    console._color_system = None
    console.print(table, HOSTILE)
    shown = console.file.getvalue()
    assert readable(shown) == shown
    assert shown.count("red]0;title2Jb") == 3
    assert "[bold]a[/bold] [/] :cat: [link=https://evil.org]" in shown


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("download=True looks on the hub", "--download looks on the hub"),
        ("answer_tokens=... allows more", "--answer-tokens allows more"),
        ("root=site/static names it.", "--root site/static names it."),
        ("allow_outside=True, or root=...", "--allow-outside, or --root"),
        ("a=b.md: not found", "a=b.md: not found"),
        ("enforce=True", "enforce=True"),
    ],
)
def test_arguments_are_called_as_they_are_typed(message, typed):
    assert as_typed(message) == typed


def options(command=None):
    from typer.main import get_command

    command = get_command(app) if command is None else command
    own = {name for each in command.params for name in each.opts}
    return own.union(*map(options, getattr(command, "commands", {}).values()))


def flag(name):
    return f"--{name.replace('_', '-')}"


def test_every_argument_that_is_called_so_is_an_option():
    from typer.main import get_command

    program: Any = get_command(app)
    papers = program.commands.get("papers")  # whose messages are printed in the same way
    assert set(map(flag, OPTIONS)) <= options() | options(papers)


@pytest.mark.slow
def test_every_option_in_a_message_of_the_library_is_called_as_it_is_typed():
    every = options()
    named = {
        name
        for path in CLI.parent.rglob("*.py")
        for _, text in strings(path)
        for name in re.findall(r"(?<![\w.%])([a-z_]+)=(?:\.\.\.|True\b)", text)
    }
    assert "download" in named
    assert {name for name in named if flag(name) in every} - set(OPTIONS) == set()


def strings(path: Path) -> list[tuple[int, str]]:
    """The texts of a module that are no docstrings, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
    ]


@pytest.mark.slow
def test_messages_of_the_library_name_no_flags_of_the_command_line():
    wrong = []
    for path in sorted(CLI.parent.rglob("*.py")):
        if CLI in path.parents or path.is_relative_to(CLI.parent / "models"):
            continue
        for line, text in strings(path):
            told = re.sub(r"`iconotext [^`]*`|    iconotext .*", "", text)  # whole commands are called by their names
            is_message = " " in text.strip()  # else it is an option itself, of another program say
            wrong += [f"{path}:{line}: {text}"] if is_message and re.search(r"(^|\s|\()--[a-z]", told) else []
    assert wrong == []


def test_commands_print_through_one_module():
    wrong = []
    for path in CLI.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or any(each.arg == "nl" for each in node.keywords):
                continue  # pieces of a text that is harmless
            if ast.unparse(node.func) in ("print", "typer.echo", "Console") and path.name != "output.py":
                wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []
