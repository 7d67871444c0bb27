"""How many steps a search with a regular expression takes, counted: by a matcher that goes through a text as ``re`` does.

Time differs from machine to machine; steps do not. One step is one try at one place: a character, a repetition that gives
one character back, an assertion.
"""

from __future__ import annotations

import re
import re._compiler as compiler  # type: ignore[import-not-found]  # private: there are no stubs
import re._constants as codes  # type: ignore[import-not-found]  # likewise
import re._parser as parser  # type: ignore[import-not-found]  # likewise
from typing import Any

REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
"""What matches exactly one character."""


class TooManyStepsError(Exception):
    """More steps than allowed."""


class Steps:
    """An expression that is tried by backtracking, as ``re`` does it, with a count of the steps.

    Args:
        expression: The expression.
        longest: What repetitions with an end are cut down to. However long a text is, they cost so many steps a place at
            most; where they are short, short texts show what the others cost.

    Attributes:
        expression: The expression.
        taken: Steps of the last search or match.
    """

    def __init__(self, expression: re.Pattern[Any], longest: int = codes.MAXREPEAT) -> None:
        self._longest = longest
        self.taken = self._allowed = 0
        self.expression = expression
        self._slots = 2 * (expression.groups + 1)
        self._state = parser.State()  # without flags of its own: each part has those that hold where it stands
        tree = parser.parse(expression.pattern, expression.flags & ~re.LOCALE)
        self._program = self._compiled(tree, expression.flags)
        starts = tree[:1] if tree and tree[0][0] in SINGLE else []
        self._start = compiler.compile(parser.SubPattern(self._state, list(starts)), expression.flags).search

    def search(self, text: Any) -> int:
        """Look for every match, as ``finditer`` does; the number of steps."""
        self._begin(text)
        at = 0
        while (start := self._start(text, at)) is not None:  # places where it cannot begin are a step each
            self._step(start.start() - at)
            at = start.start()
            found = self._run(self._program, text, at, (None,) * self._slots)
            at = found[0] if found is not None and found[0] > at else at + 1
            if at > len(text):
                break
        return self.taken

    def match(self, text: Any, at: int = 0) -> int | None:
        """Where a match that begins at a place ends."""
        self._begin(text)
        found = self._run(self._program, text, at, (None,) * self._slots)
        return None if found is None else found[0]

    def _begin(self, text: Any) -> None:
        self.taken, self._allowed = 0, MOST * (len(text) + 1)

    def _compiled(self, tree: Any, flags: int) -> list[Any]:
        program: list[Any] = []
        for code, value in tree:
            if code in SINGLE:
                program.append(("one", self._piece([(code, value)], flags)))
            elif code == codes.AT:
                program.append(("at", self._piece([(code, value)], flags)))
            elif code in REPEATS:
                program += self._repetition(flags, code, *value)
            elif code == codes.BRANCH:
                program += self._branches([self._compiled(branch, flags) for branch in value[1]])
            elif code == codes.SUBPATTERN:
                group, added, removed, inside = value
                inner = self._compiled(inside, (flags | added) & ~removed)
                program += inner if group is None else [("save", 2 * group), *inner, ("save", 2 * group + 1)]
            elif code == codes.ATOMIC_GROUP:
                program.append(("atomic", self._compiled(value, flags)))
            elif code in (codes.ASSERT, codes.ASSERT_NOT):
                direction, inner = value
                back = parser.SubPattern(self._state, list(inner)).getwidth()[0] if direction < 0 else 0
                program.append(("look", self._compiled(inner, flags), back, code == codes.ASSERT))
            elif code == codes.GROUPREF:
                program.append(("same", value))
            else:
                raise NotImplementedError(f"{code} in {self.expression.pattern!r}")
        return program

    def _piece(self, items: list[Any], flags: int) -> Any:
        return compiler.compile(parser.SubPattern(self._state, items), flags).match

    def _repetition(self, flags: int, code: Any, least: int, most: int, inner: Any) -> list[Any]:
        """Instructions of a repetition; jumps are relative, so that instructions may stand anywhere."""
        endless = most == codes.MAXREPEAT
        least, most = min(least, self._longest), most if endless else min(most, self._longest)
        if len(inner) == 1 and inner[0][0] in SINGLE:
            run = self._piece([(codes.MAX_REPEAT, (0, most, parser.SubPattern(self._state, list(inner))))], flags)
            return [("run", run, least, code)]
        if code == codes.POSSESSIVE_REPEAT:
            return [("atomic", self._repetition(flags, codes.MAX_REPEAT, least, most, inner))]
        body, greedy = self._compiled(inner, flags), code == codes.MAX_REPEAT
        program = body * least
        if endless:
            slot, self._slots = self._slots, self._slots + 1
            again = [("mark", slot), *body, ("moved", slot)]
            return [*program, _fork(len(again) + 2, greedy=greedy), *again, ("jump", -len(again) - 1)]
        for left in range(most - least, 0, -1):
            program += [_fork(left * (len(body) + 1), greedy=greedy), *body]
        return program

    @staticmethod
    def _branches(branches: list[list[Any]]) -> list[Any]:
        program = branches[-1]
        for branch in reversed(branches[:-1]):
            program = [_fork(len(branch) + 2, greedy=True), *branch, ("jump", len(program) + 1), *program]
        return program

    def _run(
        self, program: list[Any], text: Any, at: int, slots: tuple[Any, ...]
    ) -> tuple[int, tuple[Any, ...]] | None:
        """Where it ends, and its groups; None without a match."""
        waiting: list[Any] = [(0, at, slots)]
        while waiting:
            counter, at, slots, *least = waiting.pop()
            if least:  # a repetition that may give characters back, or take more
                low, high, more = least
                self._step()
                if low < high:
                    waiting.append((counter, at, slots, low + more, high - (not more), more))
                at = low if more else high
            while counter < len(program):
                what, *values = program[counter]
                counter += 1
                if what == "jump":
                    counter += values[0] - 1
                    continue
                self._step()
                if what == "one":
                    if values[0](text, at) is None:
                        break
                    at += 1
                elif what == "run":
                    run, fewest, code = values
                    end = run(text, at).end()
                    self._step(end - at if code != codes.MIN_REPEAT else 0)
                    if end - at < fewest:
                        break
                    low, at = at + fewest, end
                    if code == codes.MAX_REPEAT and low < end:
                        waiting.append((counter, at, slots, low, end - 1, False))
                    elif code == codes.MIN_REPEAT:
                        if low < end:
                            waiting.append((counter, at, slots, low + 1, end, True))
                        at = low
                elif what == "fork":
                    first, second = values
                    waiting.append((counter + second - 1, at, slots))
                    counter += first - 1
                elif what == "at":
                    if values[0](text, at) is None:
                        break
                elif what in ("save", "mark"):
                    slots = (*slots[: values[0]], at, *slots[values[0] + 1 :])
                elif what == "moved":
                    if slots[values[0]] == at:
                        break
                elif what == "same":
                    start, end = slots[2 * values[0] : 2 * values[0] + 2]
                    if start is None or end is None or not text.startswith(text[start:end], at):
                        break
                    at += end - start
                elif what == "atomic":
                    if (inner := self._run(values[0], text, at, slots)) is None:
                        break
                    at, slots = inner
                else:
                    look, back, wanted = values
                    inner = self._run(look, text, at - back, slots) if back <= at else None
                    if (inner is not None) != wanted:
                        break
                    slots = inner[1] if inner is not None else slots
            else:
                return at, slots
        return None

    def _step(self, count: int = 1) -> None:
        self.taken += count
        if self.taken > self._allowed:
            raise TooManyStepsError


def _fork(past: int, *, greedy: bool) -> tuple[str, int, int]:
    """Go on with the next instruction, and if that fails behind the body; the other way round if not ``greedy``."""
    return ("fork", 1, past) if greedy else ("fork", past, 1)


def growth(steps: Steps, short: Any, long: Any, *, searches: bool) -> tuple[int, int] | None:
    """The steps that a text and one twice as long take; None if either takes very many."""
    taken = []
    for text in (short, long):
        try:
            steps.search(text) if searches else steps.match(text)
        except TooManyStepsError:
            return None
        taken.append(steps.taken)
    return taken[0], taken[1]


MOST = 400
"""Steps for each character, more than a linear search takes."""
