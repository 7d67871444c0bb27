"""A text that is changed in steps, with the original position of each character."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter

NEW = itemgetter(0)


@dataclass(slots=True)
class EditedText:
    """A text, with the steps that led to it.

    Attributes:
        text: The present text.
        steps: For each step, the replaced ranges in order: begin and end after the step, begin and end before it.
    """

    text: str
    steps: list[list[tuple[int, int, int, int]]] = field(default_factory=list)

    def sub(self, pattern: re.Pattern[str], replacement: str | Callable[[re.Match[str]], str]) -> None:
        """Replace every match, as ``pattern.sub`` does."""
        self.replace([(m.start(), m.end(), _made(m, replacement)) for m in pattern.finditer(self.text)])

    def replace(self, stretches: list[tuple[int, int, str]]) -> None:
        """Replace ranges (begin, end, text), which must be in order and not overlap."""
        parts: list[str] = []
        step: list[tuple[int, int, int, int]] = []
        old = new = 0
        for start, end, text in stretches:
            if self.text[start:end] == text:
                continue
            parts += [self.text[old:start], text]
            new += start - old
            step.append((new, new + len(text), start, end))
            new += len(text)
            old = end
        if step:
            self.text = "".join([*parts, self.text[old:]])
            self.steps.append(step)

    def original(self, offset: int) -> int:
        """The original position of a character; for one in a replaced range, the beginning of that range."""
        for step in reversed(self.steps):
            at = bisect_right(step, offset, key=NEW) - 1
            if at >= 0:
                _, new_end, old_start, old_end = step[at]
                offset = old_start if offset < new_end else offset - new_end + old_end
        return offset


def _made(match: re.Match[str], replacement: str | Callable[[re.Match[str]], str]) -> str:
    return replacement if isinstance(replacement, str) else replacement(match)
