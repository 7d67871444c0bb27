"""What a site asks of robots: its robots.txt (RFC 9309), read by Protego, within limits."""

from __future__ import annotations

import re

from protego import Protego

MAX_READ = 500 * 2**10
"""Bytes of a robots.txt that are read, as many as RFC 9309 (2.5) wants at least; what follows is ignored."""

MAX_LINES = 20_000
"""Lines of a robots.txt that are read; what follows is ignored."""


def parse_robots(body: bytes, agent: str) -> Protego:
    """The rules of a robots.txt for one robot and for everybody.

    All other robots are given the same name. Protego keeps the rules of a group for each robot that it names, and a
    file of thousands of names would make it keep millions of rules.

    Args:
        body: The file; only its first ``MAX_READ`` bytes and ``MAX_LINES`` lines are read.
        agent: Our name, a word without a version, under which Protego is asked for rules and delay.
    """
    other = re.compile(rf"\s*user(?:-|\s*)agent[\s:]++(?!(?:\*|{re.escape(agent)})\s*(?:#|$))", re.IGNORECASE)
    lines = _text(body).removeprefix("\ufeff").splitlines()[:MAX_LINES]
    return Protego.parse("\n".join("User-agent: -" if other.match(line) else line for line in lines))


def _text(body: bytes) -> str:
    """The text of the whole lines within the first ``MAX_READ`` bytes.

    A line that is cut short is left out: the beginning of a path means more than the path.
    """
    if len(body) > MAX_READ:
        body = body[: max(body.rfind(end, 0, MAX_READ) for end in (b"\n", b"\r")) + 1]
    return body.decode("utf-8", "replace")
