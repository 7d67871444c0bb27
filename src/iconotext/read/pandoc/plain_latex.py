"""A simple reader of LaTeX that accepts any text, for documents that pandoc refuses even after repairs.

It knows headings, paragraphs, lists, figures with captions and labels, and references; of other commands it keeps the
text in their braces. It makes the HTML that pandoc would make, as far as our reader needs it.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

from iconotext.read.pandoc.latex import BODY, SECTION, VERBATIM, line_end

LEVELS = ("part", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
HEADINGS = {name: level for level, name in enumerate(LEVELS, 1)} | {"chapter": 1}
FIGURES = frozenset(
    "figure figure* wrapfigure SCfigure sidewaysfigure marginfigure floatingfigure teaserfigure".split()
)
SUBFIGURES = frozenset("subfigure subfigure* subcaptionblock minipage".split())
FORMULAS = frozenset(
    "equation equation* align align* displaymath math eqnarray eqnarray* gather gather* multline multline* tikzpicture "
    "pgfpicture".split()
)
TABLES = frozenset("tabular tabular* tabularx longtable array".split())
REFERENCES = {
    **dict.fromkeys("ref subref figref fullref labelcref eqref".split(), "ref"),
    **dict.fromkeys("cref Cref autoref vref Vref fref Fref Figref".split(), "ref+Name"),
}
"""The commands that refer to a label, and their names in pandoc: a number alone, or with "Figure" before it."""
DEFINITIONS = frozenset("newcommand renewcommand providecommand newenvironment renewenvironment def edef gdef".split())
NO_TEXT = frozenset(
    "title cite citep citet citeauthor citeyear parencite textcite nocite pageref vspace hspace usepackage today index "
    "documentclass bibliography bibliographystyle addbibresource setlength addtolength setcounter addtocounter rule "
    "pagestyle thispagestyle pagenumbering input include subfile graphicspath glsadd newtheorem color definecolor "
    "hypersetup lstset lstinputlisting linespread fontsize selectlanguage bibitem author date autocite".split()
)
"""Commands whose arguments are no text of the document."""
WITH_ARGUMENT = NO_TEXT.union(
    HEADINGS, REFERENCES, "hyperref label includegraphics includesvg caption subcaption captionof footnote".split()
)
LETTERS = {
    **dict(zip("ss ae AE oe OE o O aa AA l L i j S P".split(), "ß æ Æ œ Œ ø Ø å Å ł Ł ı ȷ § ¶".split(), strict=True)),
    **dict.fromkeys(("ldots", "dots", "textellipsis"), "…"),
    "textendash": "–",
    "textemdash": "—",
    "textquoteright": "’",
    "textquoteleft": "‘",
    "euro": "€",
    "LaTeX": "LaTeX",
    "TeX": "TeX",
    "times": "×",
    "textdegree": "°",
    "degree": "°",
    "quad": " ",
    "qquad": " ",
}
# The letter after the backslash to the accent that follows a letter in Unicode.
ACCENTS = dict(
    zip(
        "`'^~=u.\"rHvckd",
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328\u0323",
        strict=True,
    )
)
SIGNS = {"---": "—", "--": "–", "``": "“", "''": "”", "~": "\u00a0", "&": " ", "{": "", "}": "", "$": ""}
TOKEN = re.compile(
    r"\\begin\s{0,9}\{(?P<begin>[^{}\\\n]{1,60})\}|\\end\s{0,9}\{(?P<end>[^{}\\\n]{1,60})\}"
    r"|\\verb\*?(?P<verb>[^a-zA-Z0-9\s*])|\\(?P<accent>[`'^\"~=.](?=\s{0,2}[{\\a-zA-Z])|[uvHckrd](?=\s?\{\\?[a-zA-Z]\}))"
    r"|\\(?P<name>[a-zA-Z@]+)\*?|\\(?P<formula>[\[(])|\\(?P<sign>.)|(?P<comment>%[^\n]*\n?)|(?P<paragraph>\n[ \t]*\n)"
    r"|(?P<mark>---?|``|''|[~&{}$])",
    re.DOTALL,
)
SPACED = re.compile(r"\s{0,9}")
ACCENTED = re.compile(r"\s{0,2}\{?\\?([a-zA-Z])\s?\}?")
MAX_GROUP = 20_000  # maximum number of characters of an argument
MAX_VERBATIM = 50_000  # maximum number of characters of a listing or a formula
MAX_DEPTH = 20  # maximum depth of arguments within arguments


def plain_html(text: str) -> str:
    """Return the HTML of a LaTeX document; any text is accepted."""
    titled = re.search(r"\\title\s{0,9}(?:\[[^\]]{0,400}\])?\s{0,9}(?=\{)", text)
    body = BODY.search(text)
    writer = _Writer()
    writer.read(body[1] if body else text)
    writer.end_figure()
    title = _inline(_group(text, titled.end())[0]) if titled else ""
    header = f'<header id="title-block-header"><h1 class="title">{title}</h1></header>' if title.strip() else ""
    notes = "".join(f"<p>{note}</p>" for note in writer.notes)
    return f"<html><body>{header}{''.join(writer.blocks)}{notes}</body></html>"


def _group(text: str, at: int) -> tuple[str, int]:
    """Return the content of the braces at a position, and their end; an open brace ends with its paragraph."""
    if not text.startswith("{", at):
        return "", at
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at, at + MAX_GROUP):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return text[at + 1 : brace.start()], brace.end()
    blank = re.compile(r"\n[ \t]*\n|\\(?:end|begin|label)\b").search(text, at)
    end = blank.start() if blank else len(text)
    return text[at + 1 : end], end


def _options(text: str, at: int) -> int:
    """Return the end of the options in brackets at a position; the position itself without any."""
    match = re.compile(r"\s{0,9}\[(?:[^\]{}]|\{[^{}]{0,1000}\}){0,1000}\]").match(text, at)
    return match.end() if match else at


def _inline(text: str, depth: int = 0) -> str:
    writer = _Writer(depth + 1)
    if depth < MAX_DEPTH:
        writer.read(text)
    return "".join(writer.inline())


class _Writer:
    """A pass through a text that collects its blocks as HTML.

    Attributes:
        blocks: The finished blocks.
        notes: The text of footnotes.
    """

    def __init__(self, depth: int = 0) -> None:
        self.blocks: list[str] = []
        self.notes: list[str] = []
        self.depth = depth
        self.paragraph: list[str] = []
        self.tag = "p"
        self.within: list[str] = []  # figures, parts of them, and tables that are open
        self.images: list[str] = []
        self.captions: list[str] = []
        self.labels: list[str] = []
        self.heading: int | None = None  # number of the heading that the next label belongs to; None after other text

    def inline(self) -> list[str]:
        """Return all content as one stretch of text."""
        return [*self.blocks, *self.images, *self.paragraph]

    def read(self, text: str) -> None:
        at = 0
        while token := TOKEN.search(text, at):
            self.add(escape(text[at : token.start()]))
            at = self.token(token, text)
        self.add(escape(text[at:]))
        if not self.depth:
            self.close()

    def add(self, html: str) -> None:
        if html.strip():
            self.heading = None
        self.paragraph.append(html)

    def close(self) -> None:
        html = "".join(self.paragraph).strip()
        self.paragraph = []
        tag, self.tag = self.tag, "p"
        if html:
            frames = {"li": "<ul><li>{}</li></ul>", "td": "<table><tr><td>{}</td></tr></table>", "p": "<p>{}</p>"}
            self.blocks.append(frames[tag].format(html))

    def token(self, token: re.Match[str], text: str) -> int:
        """Read a token; return the position after it."""
        at = token.end()
        match token.lastgroup:
            case "begin":
                return self.begin(token["begin"], text, at)
            case "end":
                self.end(token["end"])
            case "verb":
                end = text.find(token["verb"], at, line_end(text, at))
                self.add(escape(text[at:end]) if end >= 0 else "")
                return max(at, end + 1)
            case "accent" if letter := ACCENTED.match(text, at):
                self.add(unicodedata.normalize("NFC", letter[1] + ACCENTS[token["accent"]]))
                return letter.end()
            case "formula" if token["formula"] == "[":  # a formula of its own is left out, one in a line stays
                end = text.find("\\]", at, at + MAX_GROUP)
                return end + 2 if end >= 0 else at
            case "sign":
                self.add(escape(token["sign"]) if token["sign"] in "&%$#_{}" else " ")
                if token["sign"] == "\\":
                    self.end_cell()
            case "paragraph":
                self.close()
                return at - 1  # its last line break may begin the next one
            case "mark":
                self.add(SIGNS[token["mark"]])
                if token["mark"] == "&":
                    self.end_cell()
            case "name":
                return self.command(token["name"], text, at)
        return at

    def end_cell(self) -> None:
        """End a cell, if a table is open; the next paragraph is a cell too."""
        if "table" in self.within:
            self.tag = "td"
            self.close()  # sets the tag back
            self.tag = "td"

    def begin(self, name: str, text: str, at: int) -> int:
        """Begin an environment; return the position after its arguments, or after all of it if it is left out."""
        if name in VERBATIM or name in FORMULAS:
            end = text.find(f"\\end{{{name}}}", at, at + MAX_VERBATIM)
            section = SECTION.search(text, at, end if end >= 0 else len(text))
            if end >= 0 and section is None:
                return end + len(name) + 6
            blank_line = re.compile(r"\n[ \t]*\n").search(text, at)
            return blank_line.start() if blank_line else len(text)
        if name in FIGURES:
            self.end_figure()
            self.close()
            self.within.append("figure")
        elif name in SUBFIGURES and "figure" in self.within:
            self.within.append("part")
        elif name in TABLES:
            self.close()
            self.within.append("table")
            at = _group(text, at)[1] if name in ("tabular*", "tabularx") else at
            return _group(text, _options(text, at))[1]
        else:
            self.close()
            return _options(text, at)
        at = _options(text, at)
        while text.startswith("{", at):  # arguments of the environment: widths and places
            at = _options(text, _group(text, at)[1])
        return at

    def end(self, name: str) -> None:
        if name in FIGURES:
            self.end_figure()
        elif name in SUBFIGURES and self.within[-1:] == ["part"]:
            self.within.pop()
        elif name in TABLES and "table" in self.within:
            self.end_cell()
            self.tag = "p"
            self.within.remove("table")
        else:
            self.close()

    def end_figure(self) -> None:
        """Write the open figure; its other content becomes a paragraph after it."""
        if self.images or self.captions:
            name = f' id="{self.labels[0]}"' if self.labels else ""
            caption = f"<figcaption>{' '.join(self.captions)}</figcaption>" if self.captions else ""
            self.blocks.append(f"<figure{name}>{''.join(self.images)}{caption}</figure>")
        self.images, self.captions, self.labels, self.within = [], [], [], []
        self.close()

    def command(self, name: str, text: str, at: int) -> int:
        """Read a command with its arguments, whose name ends at a position; return the position after it."""
        start = SPACED.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if name in DEFINITIONS:
            return self.definition(text, at)
        if name in LETTERS:
            self.add(LETTERS[name])
            return start
        opened = _options(text, start)
        if name == "item":
            self.close()
            self.tag = "li"
            return opened
        if name not in WITH_ARGUMENT:
            return opened if opened > start else at  # what stands in its braces is read as text
        argument, end = _group(text, opened)
        if name == "captionof":  # its first argument says of what
            argument, end = _group(text, end)
        if name == "hyperref":
            self.reference("ref+Name", text[start:opened].strip(" []"), _inline(argument, self.depth))
        else:
            self.with_argument(name, argument)
        return end

    def with_argument(self, name: str, argument: str) -> None:
        if name in HEADINGS:
            self.end_figure()
            self.blocks.append(f"<h{HEADINGS[name]}>{_inline(argument, self.depth)}</h{HEADINGS[name]}>")
            self.heading = len(self.blocks) - 1
        elif name in REFERENCES:
            self.reference(REFERENCES[name], argument, "")
        elif name == "label":
            self.label(escape(argument.strip()))
        elif name in ("includegraphics", "includesvg"):
            image = f'<img src="{escape(argument.strip())}">'
            if "figure" in self.within or self.depth:
                self.images.append(image)
            else:
                self.add(image)
        elif name in ("caption", "subcaption", "captionof"):
            self.captions.append(_inline(argument, self.depth))
        elif "cite" in name:
            self.add('<span class="citation"></span>')
        elif name == "footnote":
            self.notes.append(_inline(argument, self.depth))

    def definition(self, text: str, at: int) -> int:
        """Skip a definition: its name, its parameters, its body."""
        head = re.compile(r"\*?\s{0,9}(?:\{[^{}]{0,100}\}|\\(?:[a-zA-Z@]{1,100}|.))[^{}\n]{0,200}").match(text, at)
        return at if head is None else _group(text, head.end())[1]

    def reference(self, kind: str, label: str, words: str) -> None:
        name = escape(label.strip())
        self.add(f'<a href="#{name}" data-reference-type="{kind}" data-reference="{name}">{words or f"[{name}]"}</a>')

    def label(self, name: str) -> None:
        if "part" in self.within and self.images:
            self.images[-1] = self.images[-1].replace("<img ", f'<img id="{name}" ', 1)
        elif "figure" in self.within:
            self.labels.append(name)
        elif self.heading is not None:
            block = self.blocks[self.heading]
            self.blocks[self.heading] = f'{block[:3]} id="{name}"{block[3:]}'
            self.heading = None
        elif not self.depth:
            self.paragraph.append(f'<span id="{name}"></span>')
