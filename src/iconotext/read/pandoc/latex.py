"""LaTeX documents for pandoc: their files joined to one text, and repairs of markup that pandoc refuses.

Repairs never change the number of lines, so that a line of the text always has its file and its number there.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from iconotext.plain_text import shortened
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import Includes

VERBATIM = frozenset(
    "verbatim verbatim* Verbatim BVerbatim LVerbatim lstlisting minted comment filecontents filecontents* alltt".split()
)
FLOATS = frozenset(
    "figure figure* table table* wrapfigure wraptable sidewaysfigure marginfigure subfigure equation equation* align "
    "align* displaymath eqnarray gather gather* multline".split()
)
"""Environments that never go on for several paragraphs."""
DEFINERS = frozenset(
    "newcommand renewcommand providecommand DeclareRobustCommand newenvironment renewenvironment def edef gdef xdef "
    "NewDocumentCommand RenewDocumentCommand DeclareMathOperator newtheorem let".split()
)
WELL_DEFINED = re.compile(
    r"\*?\s{0,9}(?:\{[^{}]{1,100}\}|\\(?:[a-zA-Z@]{1,100}|[^a-zA-Z]))[ \t]{0,9}(?:\[[^\]]{0,100}\][ \t]{0,9}){0,2}"
    r"(?:%[^\n]{0,400})?\n?[ \t]{0,9}[{\\]"
)
"""Syntax of a definition after ``\\newcommand``."""
BOXED = re.compile(
    r"(\\(?:new|renew|provide)command\*?\s{0,9}\{?\\[a-zA-Z@]{1,100})(?=\}?\[1\]\{(?:%[^\n]{0,400})?\s{0,99}\\s(?:ave)?box\b)"
)
"""The beginning of a definition that first puts its argument into a box, up to the name's end.

pandoc writes such a one around pictures, and drops boxes when it reads them. Under another name the definition does no
harm, since pandoc keeps the argument of a command that it does not know.
"""
TEX_DEFINED = re.compile(r"\s{0,9}\\(?:[a-zA-Z@]{1,100}|[^a-zA-Z])[^{}\n]{0,200}\{")
"""Syntax of a definition after ``\\def``."""
TOKEN = re.compile(
    r"\\begin\s{0,9}\{(?P<begin>[^{}\\\n]{1,60})\}|\\end\s{0,9}\{(?P<end>[^{}\\\n]{1,60})\}"
    r"|\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,200}\])?)(?P<verb>[^a-zA-Z0-9\s*{\[])|\\(?P<math>[\[\]()])"
    r"|\\(?P<name>[a-zA-Z@]+)|\\.|(?P<comment>(?<!\\)%[^\n]*)|(?P<dollar>\${1,2})|(?P<brace>[{}])"
    r"|(?P<paragraph>\n[ \t]*\n)",
    re.DOTALL,
)
SECTION = re.compile(r"\\(?:part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\b|\\(?:end|begin)\s{0,9}\{document\}")
PARAGRAPH = re.compile(r"\n[ \t]*\n")
COMMAND = re.compile(r"\\(?:begin\s{0,9}\{[^{}\n]{1,60}\}|[a-zA-Z@]+\*?)")
FORMULA_MARKS = ("$", "$$", "\\(", "\\[")
REACH = 2_000
"""Maximum distance, in characters, from a place that pandoc refuses back to the beginning of the faulty command."""
MAX_DEPTH = 200  # maximum number of open braces, formulas and environments; a text with more is not repaired
SHOWN = 60  # maximum number of characters of a line that a message shows


@dataclass(frozen=True, slots=True)
class Repair:
    """One change to a text."""

    start: int  # beginning of the replaced text
    end: int  # end of the replaced text
    text: str  # the new text
    at: int  # the position of the error in the text
    words: str  # the error and its repair, in words


def structural_repairs(text: str) -> list[Repair]:
    """Return a repair for each element that is opened and never closed, or closed and never opened.

    The elements are braces, formulas, environments and verbatim text; definitions that lack a part are removed.
    """
    return _Structure(text).find_repairs()


@dataclass(slots=True)
class _Open:
    """An open brace, formula or environment: its mark or name, its place, and whether it belongs to a definition."""

    mark: str
    start: int
    end: int
    defining: bool


class _Structure:
    def __init__(self, text: str) -> None:
        self.text = text
        self.open: list[_Open] = []
        self.repairs: list[Repair] = []
        self.defining_until = -1  # a brace that begins here belongs to a definition
        self.hidden: set[str] = set()  # environments that definitions begin or end
        self.endless: set[str] = set()  # kinds of verbatim text of which no end follows

    def find_repairs(self) -> list[Repair]:
        at = 0
        while token := TOKEN.search(self.text, at):
            if len(self.open) > MAX_DEPTH:
                return []
            at = self.read(token)
        while self.open:
            self.never_closed(self.open.pop(), len(self.text))
        return self.repairs

    def read(self, token: re.Match[str]) -> int:
        """Read a token; return the position after it."""
        in_definition = any(part.defining for part in self.open)
        match token.lastgroup:
            case "comment":
                pass
            case "brace":
                self.brace(token)
            case "name" if token["name"] in DEFINERS and not in_definition:
                return self.definition(token)
            case _ if in_definition:
                self.hidden.add(token["begin"] or token["end"] or "")
            case "verb":
                return self.verb(token)
            case "dollar" | "math":
                self.formula(token[0], token.start(), token.end())
            case "paragraph":
                while self.open and self.open[-1].mark in FORMULA_MARKS:
                    self.never_closed(self.open.pop(), token.start())
                return token.end() - 1  # its last line break may begin the next one
            case "begin":
                return self.begin(token)
            case "end":
                self.end(token)
        return token.end()

    def add(self, start: int, end: int, text: str, at: int, words: str) -> None:
        self.repairs.append(Repair(start, end, text, at, words))

    def brace(self, token: re.Match[str]) -> None:
        if token[0] == "{":
            defining = token.start() == self.defining_until
            self.open.append(_Open("{", token.start(), token.end(), defining))
            return
        # A formula within a group cannot go on behind its end.
        while self.open and self.open[-1].mark in FORMULA_MARKS and any(part.mark == "{" for part in self.open):
            self.never_closed(self.open.pop(), token.start())
        if not self.open or self.open[-1].mark != "{":
            self.add(token.start(), token.end(), "", token.start(), "a closing brace too many, which is left out")
            return
        closed = self.open.pop()
        following = re.compile(r"\s{0,9}(?:\[[^\]]{0,100}\]\s{0,9}){0,2}").match(self.text, token.end())
        if closed.defining and following:
            self.defining_until = following.end()

    def definition(self, token: re.Match[str]) -> int:
        pattern = TEX_DEFINED if token["name"].endswith("def") else WELL_DEFINED
        match = pattern.match(self.text, token.end())
        if match is not None:
            self.defining_until = match.end() - 1
            return match.end() - 1
        if token["name"] in ("let", "newtheorem"):
            return token.end()
        end = line_end(self.text, token.end())
        self.add(token.start(), end, "", token.start(), "a definition that lacks a part, which is left out")
        return end

    def verb(self, token: re.Match[str]) -> int:
        end = self.text.find(token["verb"], token.end(), line_end(self.text, token.end()))
        if end >= 0:
            return end + 1
        self.add(token.start(), token.end(), "", token.start(), "never closed: read as text")
        return token.end()

    def formula(self, mark: str, start: int, end: int) -> None:
        closes = {"\\)": "\\(", "\\]": "\\["}.get(mark, mark)
        if self.open and self.open[-1].mark == closes and mark not in ("\\(", "\\["):
            self.open.pop()
        elif mark in ("\\)", "\\]"):
            self.add(start, end, "", start, "the end of a formula that was not begun, which is left out")
        else:
            self.open.append(_Open(mark, start, end, defining=False))

    def begin(self, token: re.Match[str]) -> int:
        name = token["begin"].strip()
        if name in self.hidden:
            return token.end()
        if name in VERBATIM:
            ending = re.compile(r"\\end\s{0,9}\{" + re.escape(name) + r"\}")
            # If it did not remember kinds without an end, it would search to the end of the text at each of them.
            end = ending.search(self.text, token.end()) if name not in self.endless else None
            if end is not None:
                return end.end()
            self.endless.add(name)
            self.never_closed(_Open(name, token.start(), token.end(), defining=False), len(self.text))
            return self.repairs[-1].start
        self.open.append(_Open(name, token.start(), token.end(), defining=False))
        return token.end()

    def end(self, token: re.Match[str]) -> None:
        name = token["end"].strip()
        if name in self.hidden:
            return
        if not any(part.mark == name for part in self.open):
            words = "the end of an environment that was not begun, which is left out"
            self.add(token.start(), token.end(), "", token.start(), words)
            return
        while (opened := self.open.pop()).mark != name:
            self.never_closed(opened, token.start())

    def never_closed(self, opened: _Open, limit: int) -> None:
        """Repair what is not closed before ``limit``, where something around it ends."""
        if opened.mark == "{":
            paragraph_end = PARAGRAPH.search(self.text, opened.end, limit)
            at = paragraph_end.start() if paragraph_end else limit
            if opened.defining:
                at = min(at, line_end(self.text, opened.end))
            self.add(at, at, "}", opened.start, "a brace that is never closed: closed at the end of its paragraph")
        elif opened.mark in FORMULA_MARKS:
            self.add(opened.start, opened.end, "", opened.start, "a formula that is never closed: read as text")
        else:
            section = SECTION.search(self.text, opened.end, limit)
            at = section.start() if section else limit
            if opened.mark in FLOATS:
                caption = self.text.find("\\caption", opened.end, at)
                paragraph_end = PARAGRAPH.search(self.text, opened.end if caption < 0 else caption, at)
                at = paragraph_end.start() if paragraph_end else at
            if opened.mark != "document":
                self.add(at, at, f"\\end{{{opened.mark}}}", opened.start, "never ended: ended before what follows")


def refused_command(text: str, line: int, column: int) -> Repair | None:
    """Return a repair that removes the command or environment at a place that pandoc refuses.

    It is the last command that begins before the place and goes on to it, with its arguments; else the line. None if
    there is nothing at that place.
    """
    starts = [0, *accumulate(len(row) + 1 for row in text.split("\n"))]
    if not 1 <= line < len(starts):
        return None
    begin, end = starts[line - 1], starts[line] - 1
    at = min(begin + max(column - 1, 0), end)
    for command in reversed(list(COMMAND.finditer(text, max(at - REACH, 0), end))):
        if command.start() > at or command[0].startswith(("\\begin{document", "\\end", "\\item")):
            continue
        stop = _arguments_end(text, command.end())
        if stop + 1 >= at:
            if command[0].startswith("\\begin") and command[0].endswith("}"):
                ending = text.find(command[0].replace("\\begin", "\\end", 1), stop)
                stop = stop if ending < 0 else ending + len(command[0]) - 2
            return _removal(text, command.start(), stop)
    if SECTION.match(text, begin) or not text[begin:end].strip() or not text[end:].strip():
        return None
    return _removal(text, begin, end)


def refused_section(text: str, line: int, is_read: Callable[[str], bool]) -> Repair | None:
    """Return a repair that removes the section at a line that pandoc refuses; None if nothing is left of it.

    What was opened anywhere and never closed is refused at the end of the document. Then it is the first section with
    which the document so far is refused.

    Args:
        is_read: Whether pandoc reads a text.
    """
    heads = list(SECTION.finditer(text))
    ends = [head.start() for head in heads if head[0].startswith("\\end")]
    end = ends[-1] if ends else len(text)
    begins = [head.end() if head[0].startswith("\\begin") else head.start() for head in heads if head.start() < end]
    at = len("\n".join(text.split("\n")[:line]))
    if line < 1 or not begins or at < begins[0]:
        return None
    bounds = [*begins, end]
    if at < end:
        number = bisect_right(begins, at) - 1
    else:
        number = bisect_left(
            range(len(begins) - 1), True, key=lambda n: not is_read(text[: bounds[n + 1]] + text[end:])
        )
    begin, after = bounds[number], bounds[number + 1]
    return _removal(text, begin, after) if text[begin:after].strip("%\n ") else None


def _arguments_end(text: str, at: int) -> int:
    """Return the end of the arguments in braces and brackets that follow a position."""
    while opening := re.compile(r"(?:\s|%[^\n]{0,400}\n){0,20}([\[{])").match(text, at):
        depth, place = 0, opening.end() - 1
        for bracket in re.compile(r"\\.|%[^\n]*|[\[\]{}]", re.DOTALL).finditer(text, place, place + REACH):
            depth += (bracket[0] in "[{") - (bracket[0] in "]}")
            if depth == 0:
                at = bracket.end()
                break
        else:
            return at
    return at


def _removal(text: str, start: int, end: int) -> Repair:
    """Return the repair that replaces a text by as many empty comments as it has line breaks."""
    return Repair(start, end, "%\n" * text.count("\n", start, end), start, "")


def repaired(text: str, repairs: list[Repair]) -> str:
    """Apply repairs to a text; its number of lines stays the same."""
    parts: list[str] = []
    end = 0
    for repair in sorted(repairs, key=lambda repair: repair.start):
        if repair.start < end:
            continue  # inside a text that another repair replaces
        parts += [text[end : repair.start], repair.text]
        end = repair.end
    return "".join([*parts, text[end:]])


def blamed(text: str, at: int) -> tuple[int, str]:
    """Return the line number of a position, and the shortened text there."""
    line = text.count("\n", 0, at) + 1
    return line, shortened(" ".join(text[at : line_end(text, at)].split()), SHOWN)


def line_end(text: str, at: int) -> int:
    """Return the end of the line with a position."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


INCLUDE = re.compile(r"\\(input|include|subfile)\s{0,9}\{([^{}%\\]{1,400})\}")
COMMENT = re.compile(r"(?<!\\)(?:\\\\){0,20}%")
BODY = re.compile(r"\\begin\s{0,9}\{document\}(.*?)(?:\\end\s{0,9}\{document\}|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """A LaTeX document with all files that it includes.

    Attributes:
        places: For each line its file, relative to the document's folder ("" is the document itself), and its number.
        unread: Files that could not be included, a line each.
    """

    text: str
    places: tuple[tuple[str, int], ...]
    unread: tuple[str, ...] = ()

    def at(self, line: int) -> tuple[str, int]:
        """Return the file of a line of the text, counted from 1, and its number there; outside, of the nearest line."""
        return self.places[min(max(line, 1), len(self.places)) - 1]

    def place(self, line: int) -> str:
        """Return the file and line of a line of the text, from 1, in words."""
        return _words(*self.at(line))


def join_files(text: str, document: Path, settings: ReadSettings, *, take_in: bool = True) -> Source:
    """Join a document with its included files, each in its place, without lines that are comments.

    A definition of the user's that pandoc would lose pictures in gets another name (``BOXED``).

    Args:
        take_in: Whether files are included; else pandoc reports them.
    """
    joining = _Joining(document, settings, take_in=take_in)
    joining.add(text, "")
    joined = BOXED.sub(r"\1Boxed", "\n".join(line for line, _, _ in joining.lines))
    return Source(joined, tuple((file, at) for _, file, at in joining.lines), tuple(joining.unread))


class _Joining:
    def __init__(self, document: Path, settings: ReadSettings, *, take_in: bool) -> None:
        own_folder = settings.model_copy(update={"root": document.parent, "allow_outside": False})
        self.document, self.take_in = document, take_in
        self.includes = Includes(document, own_folder)
        self.lines: list[tuple[str, str, int]] = []  # text, file and number there
        self.unread: list[str] = []

    def add(self, text: str, file: str, first: int = 1) -> None:
        """Add the text of a file, or the part of it from line ``first`` on."""
        for number, line in enumerate(text.split("\n"), first):
            if line.lstrip().startswith("%"):
                continue  # pandoc fails on some comments among options
            comment = COMMENT.search(line)
            end, lines_before = 0, len(self.lines)
            for command in INCLUDE.finditer(line, 0, comment.end() if comment else len(line)):
                content = self.included(command[2].strip())
                if content is None:
                    continue  # the command stays, and pandoc reports it
                if before := line[end : command.start()].strip():
                    self.lines.append((before, file, number))
                end = command.end()
                self.include(command, *content, (file, number))
            if line[end:].strip() or len(self.lines) == lines_before:
                self.lines.append((line[end:], file, number))

    def include(self, command: re.Match[str], path: Path, text: str, place: tuple[str, int]) -> None:
        if path == Path():
            self.unread.append(f"{command[2].strip()} is taken in once: not again at {_words(*place)}")
            return
        apart = [("", *place)] if command[1] != "input" else []
        body = BODY.search(text)  # the file may be a document of its own, too
        name = path.relative_to(self.document.parent).as_posix()
        self.lines.extend(apart)
        self.add(body[1] if body else text, name, 1 + (text.count("\n", 0, body.start(1)) if body else 0))
        self.lines.extend(apart)

    def included(self, name: str) -> tuple[Path, str] | None:
        """Return an included file and its text; an empty path if it was included before, None if it cannot be read."""
        if not self.take_in or ".." in name or name.startswith("/"):
            return None
        for file_name in (name,) if name.endswith(".tex") else (f"{name}.tex", name):
            before = len(self.includes.unread)
            file_text = self.includes.text(file_name, self.document)
            if file_text is not None:
                return file_text
            if len(self.includes.unread) == before:
                return Path(), ""
        return None


def _words(file: str, number: int) -> str:
    return f"{file} line {number}".lstrip()
