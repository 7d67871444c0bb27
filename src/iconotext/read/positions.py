"""Positions in a text that is changed in steps: each character keeps its place in the original."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

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
        text_of = replacement if callable(replacement) else lambda _: replacement
        self.replace([(match.start(), match.end(), text_of(match)) for match in pattern.finditer(self.text)])

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
        """Return the original position of a character; for one in a replaced range, the beginning of that range."""
        for step in reversed(self.steps):
            at = bisect_right(step, offset, key=NEW) - 1
            if at >= 0:
                _, new_end, old_start, old_end = step[at]
                offset = old_start if offset < new_end else offset - new_end + old_end
        return offset


MARK = "data-iconotext-at"  # the attribute with the position of a picture's markup, in characters of the decoded file

# Comments, scripts, styles and titles match whole, since a tag in them is none. One that is never closed goes to the
# end of the file: were it skipped, each of many would be searched to there, which takes quadratic time.
_PICTURE = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|title)\b.*?(?:</\1|\Z)|<(?P<tag>img|svg|input)(?=[\s/>])",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"<(?:img|svg|input)(?=[\s/>])", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n?|\n")


def mark_html(text: str) -> str:
    """Return the text with a mark in every picture."""
    return _PICTURE.sub(lambda m: f'{m[0]} {MARK}="{m.start()}"' if m["tag"] else m[0], text)


def mark_pictures(parser: MarkdownIt) -> None:
    """Let a Markdown parser mark the pictures that it finds.

    ``env["original"]`` converts an offset in the parsed text to a position in the file.
    """
    from markdown_it.rules_inline import html_inline, image

    parser.inline.ruler.at("image", _keeping_source(image))
    parser.inline.ruler.at("html_inline", _keeping_source(html_inline))
    parser.core.ruler.push("mark_pictures", _mark_tokens)


def _keeping_source(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap a rule so that its tokens have the first line of their source text, for ``_mark_tokens``."""

    def run(state: StateInline, silent: bool) -> bool:
        start = state.pos
        matched = rule(state, silent)
        if matched and not silent:
            state.tokens[-1].meta["written"] = state.src[start : state.pos].split("\n", 1)[0]
        return matched

    return run


def _mark_tokens(state: StateCore) -> None:
    """Search for each picture in the lines of its block, after the previous one."""
    if "original" not in state.env:
        return
    text, original = state.env["text"], state.env["original"]
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    cursor = 0
    for token, (first, last) in _token_parts(state.tokens):
        start, end = starts[min(first, len(starts) - 1)], starts[min(last, len(starts) - 1)]
        cursor = max(cursor, start)
        if token.type == "html_block":
            # In a list or quotation the content differs from the lines, but the n-th tag is the n-th in the lines, too.
            places = [original(match.start()) for match in _TAG.finditer(text, cursor, end)]
            if len(places) == len(_TAG.findall(token.content)):
                token.content = _marked(token.content, places)
            cursor = end
        for child in token.children or ():
            source_text = child.meta.get("written", "")
            at = text.find(source_text, cursor, end) if source_text else -1
            if at >= 0:
                cursor = at + len(source_text)
                if child.type == "image":
                    child.attrs[MARK] = original(at)
                else:
                    child.content = _marked(child.content, [original(at)])


def _token_parts(tokens: list[Token]) -> Iterator[tuple[Token, Any]]:
    """Yield the tokens that may have pictures, with their lines; in a table cell these are the lines of its row."""
    lines: Any = None
    for token in tokens:
        lines = token.map or lines
        if lines is not None and token.type in ("inline", "html_block"):
            yield token, lines


def _marked(html: str, places: Sequence[int]) -> str:
    """Return HTML with the places as marks in its first pictures."""
    following = iter(places)
    return _TAG.sub(lambda tag: f'{tag[0]} {MARK}="{next(following)}"', html, count=len(places))
