"""The source of a LaTeX document: its files joined to one text, of which each line has its file and its number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from iconotext.read.include import Includes
from iconotext.read.settings import ReadSettings

INCLUDE = re.compile(r"\\(input|include|subfile)\s{0,9}\{([^{}%\\]{1,400})\}")
COMMENT = re.compile(r"(?<!\\)(?:\\\\){0,20}%")
BODY = re.compile(r"\\begin\s{0,9}\{document\}(.*?)(?:\\end\s{0,9}\{document\}|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """A LaTeX document with all files that it takes in.

    Attributes:
        places: For each line its file, relative to the document's folder ("" is the document itself), and its number.
        unread: Files that are not taken in where the document says so, a line each.
    """

    text: str
    places: tuple[tuple[str, int], ...]
    unread: tuple[str, ...] = ()

    def place(self, line: int) -> str:
        """The file and line of a line of the text, from 1, in words."""
        return _words(*self.places[min(max(line, 1), len(self.places)) - 1])


def join_files(text: str, document: Path, settings: ReadSettings, *, take_in: bool = True) -> Source:
    """A document with the files that it takes in, each where it is named, without lines that are comments.

    Args:
        take_in: Whether files may be taken in at all. They lie in the document's folder or below.
    """
    includes = Includes(document, settings.model_copy(update={"root": document.parent, "allow_outside": False}))
    lines: list[tuple[str, str, int]] = []
    unread: list[str] = []

    def included(name: str) -> tuple[Path, str] | None:
        if not take_in or ".." in name or name.startswith("/"):
            return None
        for each in (name,) if name.endswith(".tex") else (f"{name}.tex", name):
            before = len(includes.unread)
            found = includes.text(each, document)
            if found is not None:
                return found
            if len(includes.unread) == before:
                return Path(), ""  # taken in before
        return None

    def add(text: str, file: str, first: int = 1) -> None:
        for number, line in enumerate(text.split("\n"), first):
            if line.lstrip().startswith("%"):
                continue  # pandoc fails on some comments among options
            comment = COMMENT.search(line)
            end, pieces = 0, len(lines)
            for found in INCLUDE.finditer(line, 0, comment.end() if comment else len(line)):
                taken = included(found[2].strip())
                if taken is None:
                    continue  # pandoc says so
                if before := line[end : found.start()].strip():
                    lines.append((before, file, number))
                end = found.end()
                path, part = taken
                if path == Path():
                    unread.append(f"{found[2].strip()} is taken in once: not again at {_words(file, number)}")
                    continue
                body = BODY.search(part)  # of a file that is a document of its own, too
                apart = [("", file, number)] if found[1] != "input" else []
                lines.extend(apart)
                name = path.relative_to(document.parent).as_posix()
                add(body[1] if body else part, name, 1 + (part.count("\n", 0, body.start(1)) if body else 0))
                lines.extend(apart)
            if line[end:].strip() or len(lines) == pieces:
                lines.append((line[end:], file, number))

    add(text, "")
    return Source("\n".join(line for line, _, _ in lines), tuple((file, at) for _, file, at in lines), tuple(unread))


def _words(file: str, number: int) -> str:
    return f"{file} line {number}".lstrip()
