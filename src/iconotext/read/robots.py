"""What a site asks of robots: the rules of its robots.txt (RFC 9309)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

ENCODED = re.compile("%([0-9a-fA-F]{2})")
MAX_READ = 500 * 2**10
"""Bytes of a robots.txt that are read, as many as RFC 9309 (2.5) wants at least; what follows is passed over."""

MAX_LINES = 20_000
"""Of a robots.txt; what follows is passed over."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for some addresses.

    Attributes:
        allow: Whether they may be fetched.
        path: Beginning of their path; ``*`` stands for anything, ``$`` at the end for the end.
    """

    allow: bool
    path: str


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules that a site has for us.

    Attributes:
        rules: In the order of the file.
        delay: Seconds between two requests that it asks for, None where it asks for none.
    """

    rules: tuple[Rule, ...] = ()
    delay: float | None = None

    def allows(self, address: str) -> bool:
        """Whether an address may be fetched: the longest rule that fits it counts, and of two as long the kinder."""
        parts = urlsplit(address)
        path = _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        fitting = [(len(rule.path), rule.allow) for rule in self.rules if _fits(rule.path, path)]
        return max(fitting, default=(0, True))[1]


def robots_text(body: bytes) -> str:
    """The text of a robots.txt: of a longer one the lines that lie within its first ``MAX_READ`` bytes.

    A line that is cut short is left out: the beginning of a path means more than the path.
    """
    if len(body) > MAX_READ:
        body = body[: max(body.rfind(end, 0, MAX_READ) for end in (b"\n", b"\r")) + 1]
    return body.decode("utf-8", "replace")


def parse_robots(text: str, agent: str) -> Robots:
    """The rules for us: of the groups that name us, else of those for everybody.

    Args:
        text: The file.
        agent: Our name, a word without a version.
    """
    groups: list[tuple[set[str], list[Rule], list[float]]] = []
    naming = False  # lines of user agents that follow each other open one group
    for name, value in _fields(text):
        if name == "user-agent":
            if not naming:
                groups.append((set(), [], []))
            groups[-1][0].add(value.casefold())
            naming = True
            continue
        if not groups or name not in ("allow", "disallow", "crawl-delay"):
            continue  # a sitemap or the like belongs to no group
        naming = False
        if name == "crawl-delay":
            groups[-1][2].extend(_seconds(value))
        elif value:  # an empty "Disallow:" forbids nothing
            groups[-1][1].append(Rule(name == "allow", _normal(value)))
    ours = [group for group in groups if agent.casefold() in group[0]] or [g for g in groups if "*" in g[0]]
    delays = [delay for group in ours for delay in group[2]]
    return Robots(tuple(rule for group in ours for rule in group[1]), max(delays, default=None))


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for line in text.removeprefix("\ufeff").splitlines()[:MAX_LINES]:
        name, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield name.strip().casefold(), value.strip()


def _seconds(value: str) -> Iterator[float]:
    try:
        seconds = float(value)
    except ValueError:
        return
    if 0 <= seconds < float("inf"):
        yield seconds


def _normal(path: str) -> str:
    """A path in which the same characters are written the same way; ``%2F`` and ``/`` are not the same."""
    return quote(ENCODED.sub(_plain, path), safe="".join(map(chr, range(33, 127))), errors="replace")


def _plain(encoded: re.Match[str]) -> str:
    character = chr(int(encoded[1], 16))
    plain = character.isascii() and (character.isalnum() or character in "-._~")
    return character if plain else encoded[0].upper()


def _fits(rule: str, path: str) -> bool:
    """Whether a path begins with what a rule says."""
    end = rule.endswith("$")
    first, *pieces = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not pieces:
        return not end or at == len(path)
    *middle, last = pieces
    for piece in middle:  # the first place where a piece stands leaves most for the others
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    if end:
        return len(path) - len(last) >= at and path.endswith(last)
    return path.find(last, at) >= 0
