"""Texts on which a regular expression takes longest, made from the expression itself.

Checkers at hand (regexploit, redoctor) look for one match that backtracks. They pass over the commoner fault: a search
that begins anew at every place of a text and runs to its end each time, such as ``\\s*x`` in a line of spaces.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import re._constants as codes  # type: ignore[import-not-found]  # private: there are no stubs
import re._parser as parser  # type: ignore[import-not-found]  # likewise
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNBOUNDED = 300
"""A repetition of at least so many counts as without end."""
CATEGORIES = {"SPACE": " ", "NOT_SPACE": "a", "DIGIT": "1", "NOT_DIGIT": "a", "WORD": "a", "NOT_WORD": "-"}


@dataclass(frozen=True)
class Found:
    """A regular expression in the source.

    Attributes:
        place: Module and line.
        name: What it is assigned to, or "".
        expression: The expression.
        searches: Whether it is looked for everywhere in a text, not only tried at one place.
    """

    place: str
    name: str
    expression: re.Pattern[Any]
    searches: bool


def expressions(source: Path, *folders: str) -> Iterator[Found]:
    """Every expression ``re.f("...")`` in some folders of a package; one that is put together at run time is left out.

    Args:
        source: Folder of the package.
        folders: Those within it that are looked through.
    """
    every = [path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))]
    for path in sorted(path for folder in folders for path in (source / folder).rglob("*.py")):
        own = path.read_text(encoding="utf-8")
        tree = ast.parse(own)
        module = ".".join((source.name, *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__")
        names = {id(node.value): node.targets[0] for node in ast.walk(tree) if isinstance(node, ast.Assign)}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
            if not (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "re"):
                continue
            used, called = {call.func.attr}, ""
            if call.func.attr == "compile" and isinstance(name := names.get(id(call)), ast.Name):
                called = name.id
                imported = re.compile(rf"from {re.escape(module)} import [^)]*?\b{called}\b")
                users = [text for text in every if text == own or imported.search(text)]
                used = set(re.findall(rf"\b{called}\.(\w+)\(", "\n".join(users)))
            # The names in an expression put together from others are those of its module.
            known = {} if isinstance(call.args[0], ast.Constant) else vars(importlib.import_module(module))
            with contextlib.suppress(NameError):
                text = eval(ast.unparse(call.args[0]), {}, known)
                options = [a for a in (*call.args[1:], *(k.value for k in call.keywords)) if "re." in ast.unparse(a)]
                flags = eval(ast.unparse(options[0]), {"re": re}) if options else 0
                if isinstance(text, str | bytes) and call.func.attr != "escape":
                    place = f"{path.relative_to(source).as_posix()}:{call.lineno}"
                    yield Found(place, called, re.compile(text, flags), not used <= {"match", "fullmatch"})


def attacks(expression: re.Pattern[Any], size: int) -> Iterator[str]:
    """Texts of about ``size`` characters; none for an expression in which nothing can go on without end."""
    tree = parser.parse(expression.pattern, expression.flags & ~re.LOCALE)
    starts = list(dict.fromkeys(_starts(tree, "")))
    if not starts:
        return
    letters = sorted(set(_letters(tree)) | {" ", "a"})
    whole = _sample(tree)
    units = {start + letter for start in ("", *starts, whole) for letter in ("", *letters)} - {""}
    for start in starts:
        for letter in letters:
            yield start + letter * size + "\x00"
            yield start + letter * size + " \x00 " + whole
    for unit in sorted(units):
        yield unit * (size // len(unit))


def _starts(tree: Any, before: str) -> Iterator[str]:
    """What stands before each repetition without end."""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            if value[1] == codes.MAXREPEAT or value[1] >= UNBOUNDED:
                yield before
            yield from _starts(value[2], before)
        elif code == codes.BRANCH:
            for branch in value[1]:
                yield from _starts(branch, before)
        elif code == codes.SUBPATTERN:
            yield from _starts(value[3], before)
        elif code == codes.ATOMIC_GROUP:
            yield from _starts(value, before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _starts(value[1], before)
        before += _sample([(code, value)])


def _sample(tree: Any) -> str:
    """A short text that the expression matches, but for what it looks back and ahead at."""
    parts = []
    for code, value in tree:
        if code == codes.LITERAL:
            parts.append(chr(value))
        elif code in (codes.NOT_LITERAL, codes.ANY):
            parts.append("a" if code == codes.ANY or value != ord("a") else "b")
        elif code == codes.IN:
            parts.append(next(iter(_of_set(value)), "a"))
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            parts.append(_sample(value[2]) * max(value[0], 0))
        elif code == codes.BRANCH:
            parts.append(_sample(value[1][0]))
        elif code == codes.SUBPATTERN:
            parts.append(_sample(value[3]))
        elif code == codes.ATOMIC_GROUP:
            parts.append(_sample(value))
    return "".join(parts)


def _of_set(items: Any) -> Iterator[str]:
    """Characters of a set, one for each of its parts."""
    if items[0][0] == codes.NEGATE:
        inside = re.compile(f"[{''.join(re.escape(letter) for letter in _of_set(items[1:]))}]") if items[1:] else None
        yield from (letter for letter in "a1 -.\"'#<" if inside is None or not inside.match(letter))
        return
    for code, value in items:
        if code == codes.LITERAL:
            yield chr(value)
        elif code == codes.RANGE:
            yield chr(value[0])
        elif code == codes.CATEGORY:
            yield CATEGORIES[str(value).removeprefix("CATEGORY_")]


def _letters(tree: Any) -> Iterator[str]:
    """Characters that stand within repetitions without end."""
    for code, value in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            if value[1] == codes.MAXREPEAT or value[1] >= UNBOUNDED:
                yield from _members(value[2])
            yield from _letters(value[2])
        elif code == codes.BRANCH:
            for branch in value[1]:
                yield from _letters(branch)
        elif code == codes.SUBPATTERN:
            yield from _letters(value[3])
        elif code == codes.ATOMIC_GROUP:
            yield from _letters(value)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _letters(value[1])


def _members(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code == codes.IN:
            yield from _of_set(value)
        elif code == codes.SUBPATTERN:
            yield from _members(value[3])
        elif code == codes.ATOMIC_GROUP:
            yield from _members(value)
        elif code == codes.BRANCH:
            for branch in value[1]:
                yield from _members(branch)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _members(value[2])
        else:
            yield _sample([(code, value)])
