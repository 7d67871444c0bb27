"""Texts on which a regular expression takes longest, made from the expression itself.

Checkers at hand (regexploit, redoctor) look for one match that backtracks. They pass over the commoner fault: a search
that begins anew at every place of a text and runs to its end each time, such as ``\\s*x`` in a line of spaces.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
import re._compiler as compiler  # type: ignore[import-not-found]  # private: there are no stubs
import re._constants as codes  # type: ignore[import-not-found]  # likewise
import re._parser as parser  # type: ignore[import-not-found]  # likewise
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.steps import REPEATS, SINGLE

UNBOUNDED = 300
"""A repetition of at least so many counts as without end."""
AT_ONE_PLACE = {"match", "fullmatch"}
METHODS = AT_ONE_PLACE | {"search", "findall", "finditer", "sub", "subn", "split"}
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
        names |= {id(node.value): ast.Name(node.arg or "") for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
            if not (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "re"):
                continue
            used, called = {call.func.attr}, ""
            if call.func.attr == "compile" and isinstance(name := names.get(id(call)), ast.Name):
                called = name.id
                imported = re.compile(rf"from {re.escape(module)} import [^)]*?\b{called}\b")
                users = [text for text in every if text == own or imported.search(text)]
                used = METHODS & set(re.findall(rf"\b{called}\.(\w+)\(", "\n".join(users)))
            # The names in an expression put together from others are those of its module.
            known = {} if isinstance(call.args[0], ast.Constant) else vars(importlib.import_module(module))
            with contextlib.suppress(NameError):
                text = eval(ast.unparse(call.args[0]), {}, known)
                options = [a for a in (*call.args[1:], *(k.value for k in call.keywords)) if "re." in ast.unparse(a)]
                flags = eval(ast.unparse(options[0]), {"re": re}) if options else 0
                if isinstance(text, str | bytes) and call.func.attr != "escape":
                    place = f"{path.relative_to(source).as_posix()}:{call.lineno}"
                    yield Found(place, called, re.compile(text, flags), not used or not used <= AT_ONE_PLACE)


@dataclass(frozen=True)
class Attack:
    """A text that an expression may take long for: a beginning, a unit again and again, an end."""

    begin: str
    unit: str
    end: str = ""

    def texts(self, size: int) -> tuple[str, str]:
        """Return a text in which the unit takes about ``size`` characters, and one in which it takes twice as many."""
        number = max(4, size // len(self.unit))
        short, long = (self.begin + self.unit * (times * number) + self.end for times in (1, 2))
        return short, long


def attacks(expression: re.Pattern[Any]) -> list[Attack]:
    """The texts for an expression; none for one in which nothing can go on without end.

    Of texts that only differ in letters which every part of the expression takes or refuses alike there is one: the
    others take the same steps.
    """
    tree = parser.parse(expression.pattern, expression.flags & ~re.LOCALE)
    starts = list(dict.fromkeys(_starts(tree, "")))
    if not starts:
        return []
    letters = sorted(({*_letters(tree), " ", "a"}) - {""})
    whole = _sample(tree)
    ends = ("\x00", " \x00 " + whole)
    texts = [Attack(start, letter, end) for start in starts for letter in letters for end in ends]
    units = {start + letter for start in ("", *starts, whole) for letter in ("", *letters)} - {""}
    texts += [Attack("", unit) for unit in sorted(units)]
    alike = _alike(tree, expression)
    return list({tuple(alike(part) for part in (a.begin, _root(a.unit), a.end)): a for a in reversed(texts)}.values())


def _root(unit: str) -> str:
    """The shortest text of which a unit is a repetition."""
    return unit[: (unit + unit).find(unit, 1)]


def _alike(tree: Any, expression: re.Pattern[Any]) -> Callable[[str], tuple[Any, ...]]:
    """A function that makes the same of two texts if every part of an expression treats their letters alike."""
    parts = {repr(node): node for node in _singles(tree)}
    matches = [
        compiler.compile(parser.SubPattern(parser.State(), [node]), flags).match
        for node in parts.values()
        for flags in (expression.flags, expression.flags | re.IGNORECASE)
    ]

    @cache
    def letter(one: str) -> tuple[Any, ...]:
        given = one if isinstance(expression.pattern, str) else one.encode()
        if len(given) > 1 or one == "\n":  # "." and "$" have their own ways with the end of a line
            return (one,)
        return (bool(re.match(r"\w", one)), *(match(given) is not None for match in matches))

    return lambda text: tuple(map(letter, text))


def _singles(tree: Any) -> Iterator[Any]:
    """The parts of an expression that match one character."""
    for code, value in tree:
        if code in SINGLE:
            yield code, value
        for inner in _inside(code, value):
            yield from _singles(inner)


def _inside(code: Any, value: Any) -> Sequence[Any]:
    """The expressions of which a part of an expression consists."""
    if code in REPEATS:
        return (value[2],)
    if code == codes.SUBPATTERN:
        return (value[3],)
    if code == codes.ATOMIC_GROUP:
        return (value,)
    if code in (codes.BRANCH, codes.ASSERT, codes.ASSERT_NOT):
        return value[1] if code == codes.BRANCH else (value[1],)
    return ()


def _endless(code: Any, value: Any) -> bool:
    return code in REPEATS and (value[1] == codes.MAXREPEAT or value[1] >= UNBOUNDED)


def _starts(tree: Any, before: str) -> Iterator[str]:
    """What stands before each repetition without end."""
    for code, value in tree:
        if _endless(code, value):
            yield before
        for inner in _inside(code, value):
            yield from _starts(inner, before)
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
        elif code in REPEATS:
            parts.append(_sample(value[2]) * value[0])
        elif code not in (codes.ASSERT, codes.ASSERT_NOT):
            parts.append("".join(map(_sample, _inside(code, value)[:1])))
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
        if _endless(code, value):
            yield from _members(value[2])
        for inner in _inside(code, value):
            yield from _letters(inner)


def _members(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code == codes.IN:
            yield from _of_set(value)
        elif code in SINGLE:
            yield _sample([(code, value)])
        elif code not in (codes.ASSERT, codes.ASSERT_NOT):
            for inner in _inside(code, value):
                yield from _members(inner)
