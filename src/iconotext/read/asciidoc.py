"""AsciiDoc → blocks: as much of it as text, pictures, captions and references need. Code is no text and left out."""

from __future__ import annotations

import re
from pathlib import Path

from iconotext.read.asciidoc_text import Texts, parse_attributes
from iconotext.read.blocks import Flow
from iconotext.read.cross_references import fill_references
from iconotext.read.figure_html import figure, made_by_code
from iconotext.read.html import REMOVED_CHARACTERS, html_blocks, parse_html
from iconotext.read.include import Includes
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

ENTRY = re.compile(r":(!?)([\w-]{1,100})(!?):(?:[ \t]++(.*))?")
CONDITION = re.compile(r"^(ifdef|ifndef|ifeval|endif)::([^\[]{0,300}+)\[(.*)\][ \t]*+")
INCLUDE = re.compile(r"^include::([^\[]{1,1000}+)\[.*\][ \t]*+")
DELIMITER = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3}|[|,:!]={3})[ \t]*+")
FENCE = re.compile(r"```[\w+-]{1,30}[ \t]*+")
HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]++(\S.*)")
IMAGE = re.compile(r"^image::([^\[\s][^\[]{0,2000}+)\[(.*)\][ \t]*+")
MACRO = re.compile(r"(?:video|audio|toc|chart|diagram|gist|lifecycle)::[^\[]{0,1000}+\[.*\][ \t]*+")
ITEM = re.compile(r"[ \t]*+(?:\*{1,5}|-|\.{1,5}|\d{1,9}\.|[a-zA-Z]\.|<[\d.]{1,9}>)[ \t]++(\S.*)")
TERM = re.compile(r"([^\n:;][^:;]{0,300}+(?:(?::(?!:)|;(?!;))[^:;]{0,300}+){0,300})(?:::{1,3}|;;)(?:[ \t]++(.*))?")
ADMONITION = re.compile(r"(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]++")
TITLE = re.compile(r"\.([^\s.].*)")
ATTRIBUTES = re.compile(r"\[([^\[\]]{0,2000}|[^\[].{0,2000}[^\]])\][ \t]*+")
ANCHOR = re.compile(r"\[\[([^\[\],]{1,300})(?:,([^\]]{0,300}))?\]\][ \t]*+")
CELL = re.compile(r"(?:(?<=\s)|^)(?:\d{1,4}(?:\.\d{1,4})?[+*]|\.\d{1,4}\+)?[<^>.]{0,4}([adehlmsv]?)\|", re.MULTILINE)

CODE = ("-", ".", "/", "`")
"""What the delimiters of code and comments begin with."""
DRAWN = frozenset(
    "plantuml mermaid graphviz ditaa blockdiag seqdiag actdiag nwdiag erd vega vegalite tikz svgbob".split()
)
CODE_STYLES = frozenset("source listing literal stem latexmath asciimath comment pass".split())
MAX_DEPTH = 30
"""Blocks within blocks."""


def read_asciidoc(path: Path, settings: ReadSettings) -> list[Flow]:
    """An AsciiDoc file, with the files that it includes, as one flow."""
    includes = Includes(path, settings)
    texts = Texts()
    lines = list(_lines(REMOVED_CHARACTERS.sub("", decode_text(path)), path, includes, texts))
    body = "".join(_Blocks(texts).read(_without_header(lines), 0))
    tree = parse_html(f"<article>{body}</article>")
    fill_references(tree)
    return [
        Flow(html_blocks(tree), None, language_code(texts.attributes.get("lang", "")), unread=tuple(includes.unread))
    ]


def _lines(text: str, path: Path, includes: Includes, texts: Texts) -> list[str]:
    """The lines of a file with what it includes, without what conditions leave out.

    Attributes that conditions and names of files need are read on the way; ``_Blocks`` reads them again in their order.
    """
    found: list[str] = []
    waiting = [(iter(text.splitlines()), path)]
    open_conditions: list[bool] = []
    code = ""  # the delimiter of the block of code that is open
    while waiting:
        lines, file = waiting[-1]
        line = next(lines, None)
        if line is None:
            waiting.pop()
            continue
        stripped = line.rstrip()
        condition = CONDITION.fullmatch(stripped)
        if condition:
            _condition(condition, open_conditions, texts, found)
            continue
        if not all(open_conditions):
            continue
        if code or (DELIMITER.fullmatch(stripped) and stripped[0] in CODE and stripped != "--"):
            code = "" if code == stripped else code or stripped
        elif include := INCLUDE.fullmatch(stripped):
            taken = includes.text(texts.filled(include[1]).strip(), file)
            if taken is not None:
                inner = REMOVED_CHARACTERS.sub("", taken[1]).splitlines()
                waiting.append((iter(["", *inner, ""]), taken[0]))
            continue
        elif entry := ENTRY.fullmatch(stripped):
            texts.set(entry)
        found.append(stripped if code == "" or stripped == code else "")
    return found


def _condition(condition: re.Match[str], opened: list[bool], texts: Texts, found: list[str]) -> None:
    kind, names, text = condition[1], condition[2], condition[3]
    if kind == "endif":
        del opened[-1:]
        return
    known = [name.strip() in texts.attributes for name in re.split(r"[,+]", names)]
    holds = kind == "ifeval" or (all(known) if "+" in names else any(known)) == (kind == "ifdef")
    if text and kind != "ifeval":
        if holds and all(opened):
            found.append(text)
    else:
        opened.append(holds)


def _without_header(lines: list[str]) -> list[str]:
    """The lines without those on authors and versions, which stand right below the title."""
    start = next((n for n, line in enumerate(lines) if line and not line.startswith("//")), 0)
    if not lines or not lines[start].startswith("= "):
        return lines
    end = start + 1
    while end < len(lines) and lines[end]:
        end += 1
    kept = [line for line in lines[start + 1 : end] if ENTRY.fullmatch(line)]
    return [*lines[: start + 1], *kept, *lines[end:]]


class _Blocks:
    """One pass over the lines of a document, or of a block in it; what was said before a block waits for it."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.forget()

    def forget(self) -> None:
        """Nothing waits for the next block."""
        self.title, self.names, self.style, self.given = "", list[str](), "", dict[str, str]()

    def read(self, lines: list[str], depth: int) -> list[str]:
        """HTML of some lines."""
        found: list[str] = []
        at = 0
        while at < len(lines):
            line = lines[at]
            delimiter = "```" if FENCE.fullmatch(line) else line.rstrip() if DELIMITER.fullmatch(line) else ""
            if delimiter:
                end = at + 1
                while end < len(lines) and lines[end].rstrip() != delimiter:
                    end += 1
                found.append(self.delimited(delimiter, lines[at + 1 : end], depth))
                at = end + 1
                self.forget()
            elif self.prepares(line):
                at += 1
            else:
                html, at = self.block(lines, at)
                found.append(html)
                if line:
                    self.forget()
        return found

    def prepares(self, line: str) -> bool:
        """Whether a line is no block, but says something of the next one, or nothing at all."""
        if line.startswith("//") or line in ("+", "'''", "<<<") or MACRO.fullmatch(line):
            return True
        if entry := ENTRY.fullmatch(line):
            self.texts.set(entry)
        elif anchor := ANCHOR.fullmatch(line):
            self.names.append(anchor[1])
            if anchor[2]:
                self.texts.reference_texts[anchor[1]] = anchor[2].strip()
        elif title := TITLE.fullmatch(line):
            self.title = title[1]
        elif ATTRIBUTES.fullmatch(line):
            self.attributes(line.strip()[1:-1])
        else:
            return False
        return True

    def attributes(self, text: str) -> None:
        """``[style#id.role,name=value]``."""
        plain, named = parse_attributes(self.texts.filled(text))
        first = plain[0] if plain else ""
        self.style = re.split(r"[#.%]", first, maxsplit=1)[0].strip() or self.style
        self.names += re.findall(r"#([\w:.-]+?)(?=[.%#]|$)", first)
        self.names += [named["id"]] if "id" in named else []
        self.given |= named
        self.title = named.get("title", self.title)

    def marks(self) -> str:
        """Empty elements with the names that wait."""
        return "".join(f'<span id="{self.texts.escaped(name)}"></span>' for name in self.names)

    def delimited(self, delimiter: str, inner: list[str], depth: int) -> str:
        """HTML of a block between two delimiters."""
        kind = delimiter[0]
        title = self.texts.html(self.title) if self.title else ""
        if self.style in DRAWN:
            name = self.names[0] if self.names else self.style
            return figure([made_by_code(name, self.given.get("alt"))], title, names=self.names)
        if (kind in CODE and delimiter != "--") or self.style in CODE_STYLES or depth >= MAX_DEPTH:
            return ""
        if kind == "+":
            return "\n".join(inner)
        if delimiter[1:] == "===" and kind != "=":
            return self.table(inner, title, depth, kind)
        names, quote = list(self.names), kind == "_"
        self.forget()
        html = "".join(self.read(inner, depth + 1))
        if title and "<img" in html:
            return figure([html], title, names=names)
        marks = "".join(f'<span id="{self.texts.escaped(name)}"></span>' for name in names)
        tag = "blockquote" if quote else "div"
        return f"<{tag}>{marks}{f'<p>{title}</p>' if title else ''}{html}</{tag}>"

    def table(self, lines: list[str], title: str, depth: int, kind: str) -> str:
        """HTML of a table; all of its cells in one row, since only their order counts."""
        names, text = list(self.names), "\n".join(lines)
        whole_style = self.given.get("cols", "")
        self.forget()
        if kind == "," or kind == ":":
            cells = [("", cell) for line in lines for cell in line.split(kind)]
        else:
            pieces = CELL.split(text)
            cells = list(zip(pieces[1::2], pieces[2::2], strict=False))
        html = []
        for style, cell in cells:
            if style == "a" or (not style and re.search(r"(?:^|[,|>\d])a(?:[,|]|$)", whole_style)) or "image::" in cell:
                html.append("<td>" + "".join(self.read(cell.strip().splitlines(), depth + 1)) + "</td>")
                self.forget()
            else:
                html.append(f"<td>{self.texts.html(' '.join(cell.split()))}</td>")
        first = f' id="{self.texts.escaped(names[0])}"' if names else ""
        return f"<table{first}>{f'<caption>{title}</caption>' if title else ''}<tr>{''.join(html)}</tr></table>"

    def block(self, lines: list[str], at: int) -> tuple[str, int]:
        """HTML of the block that begins at a line, and the line after it."""
        line = lines[at]
        if not line:
            return "", at + 1
        if heading := HEADING.fullmatch(line):
            level = len(heading[1])
            self.names += [anchor[0] for anchor in ANCHOR.findall(heading[2])]
            text = self.texts.html(ANCHOR.sub("", heading[2]))
            return f"{self.marks()}<h{level}>{text}</h{level}>", at + 1
        if image := IMAGE.fullmatch(line):
            return self.image(image), at + 1
        if self.style in CODE_STYLES or (line[0] in " \t" and not ITEM.fullmatch(line)):
            return "", self.end_of_text(lines, at)
        end = self.end_of_text(lines, at)
        if item := ITEM.fullmatch(line):
            return f"<li>{self.marks()}{self.texts.html(' '.join([item[1], *lines[at + 1 : end]]))}</li>", end
        if term := TERM.fullmatch(line):
            rest = " ".join([term[2] or "", *lines[at + 1 : end]]).strip()
            return f"<dt>{self.texts.html(term[1])}</dt><dd>{self.texts.html(rest)}</dd>", end
        text = " ".join(piece.removesuffix(" +") for piece in lines[at:end])
        tag = "blockquote" if self.style in ("quote", "verse") else "p"
        title = f"<p>{self.texts.html(self.title)}</p>" if self.title else ""
        return f"{title}<{tag}>{self.marks()}{self.texts.html(ADMONITION.sub('', text, count=1))}</{tag}>", end

    def end_of_text(self, lines: list[str], at: int) -> int:
        """The line after a paragraph or an item: an empty one, or one that begins something else."""
        at += 1
        while at < len(lines) and (line := lines[at]):
            if DELIMITER.fullmatch(line) or line == "+" or ANCHOR.fullmatch(line) or IMAGE.fullmatch(line):
                break
            if ITEM.fullmatch(line) or TERM.fullmatch(line) or line.startswith("//") or ATTRIBUTES.fullmatch(line):
                break
            at += 1
        return at

    def image(self, image: re.Match[str]) -> str:
        """HTML of ``image::a.png[...]`` with its title as caption."""
        plain, named = parse_attributes(self.texts.filled(image[2]))
        title = named.get("title") or self.title
        names = [*self.names, *([named["id"]] if "id" in named else [])]
        picture = self.texts.picture(image[1], plain, named)
        return figure([picture], self.texts.html(title) if title else "", names=names)
