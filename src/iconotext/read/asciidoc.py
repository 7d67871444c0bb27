"""AsciiDoc → HTML, which ``html`` turns into blocks: text, pictures, captions and references. Code is left out."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from iconotext.errors import HostileDocumentError
from iconotext.read.address import SCHEME
from iconotext.read.blocks import Flow
from iconotext.read.cross_references import anchors, figure, fill_references, made_by_code, picture, reference
from iconotext.read.formulas import readable
from iconotext.read.html import REMOVED_CHARACTERS, html_blocks, parse_html
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import Includes, decode_text

# Every repeat is bounded or possessive, so that no document makes a match take long.
ATTRIBUTE_REFERENCE = re.compile(r"(\\?)\{([\w-]{1,100})\}")
ATTRIBUTE = re.compile(
    r"\s*+(?:([\w-]{1,50})\s*+=\s*+)?(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'|([^,]*+))[^,]*+(?:,|$)"
)
INLINE_MACRO = re.compile(
    r"(?P<pass>pass:[a-z,]{0,20}\[(?P<raw>[^\]]{0,250}+)\]|\+\+\+(?P<plus>[^+]{0,250}+)\+\+\+)"
    r"|(?P<index>\(\(\((?:[^()]|\([^()]{0,100}+\)){0,250}+\)\)\))"
    r"|\(\((?P<term>[^()]{1,200}+)\)\)"
    r"|image:(?P<image>[^\s:\[][^\[\s]{0,250}+)\[(?P<about>(?:[^\]\\]|\\.){0,250}+)\]"
    r"|<<(?P<label>[^<>,]{1,200}+)(?:,(?P<text>[^<>]{0,250}+))?>>"
    r"|xref:(?P<to>[^\[\s]{1,200}+)\[(?P<title>[^\]]{0,250}+)\]"
    r"|(?:link:(?:\+\+)?|mailto:)(?P<link>[^\[\s]{1,250}+)\[(?P<shown>[^\]]{0,250}+)\]"
    r"|\\(?P<plain>https?://[^\s<>\"`]{1,250}+)"
    r"|(?P<url>https?://[^\s\[<>\"]{1,250}+)(?:\[(?P<name>[^\]]{0,250}+)\])?"
    r"|(?P<note>footnote(?:ref)?:[\w-]{0,50}\[(?:[^\[\]]|\[[^\[\]]{0,200}+\]){0,250}+\])"
    r"|\[\[(?P<anchor>[^\[\],]{1,200}+)(?:,[^\]]{0,200}+)?\]\]|anchor:(?P<place>[\w-]{1,100})\[[^\]]{0,100}+\]"
    r"|(?:stem|latexmath|asciimath):\[(?P<math>(?:[^\]\\]|\\.){0,250}+)\]"
    r"|(?:kbd|btn|menu:[^\[\s]{0,100}+|icon:[^\[\s]{0,100}+):?\[(?P<key>[^\]]{0,100}+)\]"
)
PAIRS = ((r"\*", "strong"), ("_", "em"), ("`", "code"), (r"\+", "code"))
QUOTES = (
    *((re.compile(rf"{mark}{mark}(?P<inner>[^{mark}\n]{{1,250}}+){mark}{mark}"), tag) for mark, tag in PAIRS),
    *(
        (re.compile(rf"(?<![\w{mark}]){mark}(?=\S)(?P<inner>[^{mark}\n]{{1,250}}+){mark}(?![\w{mark}])"), tag)
        for mark, tag in PAIRS
    ),
    (re.compile(r"\^(?P<inner>[^\s^]{1,100}+)\^"), "sup"),
    (re.compile(r"~(?P<inner>[^\s~]{1,100}+)~"), "sub"),
    (re.compile(r"(?:\[[^\[\]]{0,100}+\])?(?<![\w#&])#(?=\S)(?P<inner>[^#\n]{1,250}+)#(?![\w#])"), "mark"),
)
WORD = re.compile("[a-zA-Z]{2}")  # of AsciiMath, as in "sqrt(x) and y"; LaTeX would close the gaps around it
ENTITY = re.compile(r"&amp;(#\d{1,7}|#x[\da-fA-F]{1,6}|[a-zA-Z]{2,20});")
HELD = re.compile("\ue000(\\d{1,7})\ue001")  # a mark that stands for HTML, see ``Texts.html``
MAX_VALUE = 4_000  # maximum number of characters of an attribute's value, with other attributes filled in
MAX_FILLED = 16 * 2**20  # maximum number of characters that attributes add to a document
CHARACTERS = {
    "nbsp": "\u00a0", "sp": " ", "empty": "", "zwsp": "\u200b", "apos": "'", "quot": '"', "lt": "<", "gt": ">",
    "amp": "&", "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "deg": "°", "plus": "+", "startsb": "[",
    "endsb": "]", "vbar": "|", "caret": "^", "asterisk": "*", "tilde": "~", "backslash": "\\", "two-colons": "::",
    "cpp": "C++",
}  # fmt: skip
OF_CONVERTERS = {"backend": "html5", "backend-html5": "", "basebackend-html": "", "outfilesuffix": ".html"}
"""Attributes that a converter to HTML sets: conditions test them."""


def parse_attributes(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the attributes without a name, in order, and those with one, of ``alt,300,role="left"``."""
    plain: list[str] = []
    named: dict[str, str] = {}
    for match in ATTRIBUTE.finditer(text):
        value = (match[2] or match[3] or match[4] or "").strip()
        if match[1]:
            named.setdefault(match[1], value)
        elif match[0]:
            plain.append(value)
    return plain, named


class Texts:
    """The conversion of texts to HTML, with the attributes that the document has set so far.

    Attributes:
        reference_texts: The text that the author gives for references to a label: ``[[label,text]]``.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, str] = dict(OF_CONVERTERS)
        self.reference_texts: dict[str, str] = {}
        self._filled = 0

    def set(self, entry: re.Match[str]) -> None:
        """Set an attribute from ``:name: value``, or delete it for ``:!name:``."""
        if entry[1] or entry[3]:
            self.attributes.pop(entry[2], None)
        else:
            self.attributes[entry[2]] = self.filled(entry[4] or "").strip()[:MAX_VALUE]

    def filled(self, text: str) -> str:
        """Replace the references to attributes in a text by their values."""

        def value(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            name = match[2].lower()
            attribute = self.attributes.get(match[2], self.attributes.get(name, CHARACTERS.get(name)))
            if attribute is None:
                return match[0]
            self._filled += len(attribute)
            if self._filled > MAX_FILLED:
                limit = f"{MAX_FILLED / 2**20:.0f} MiB"
                raise HostileDocumentError(f"its attributes add more than {limit} to it: shorten them")
            return attribute

        return ATTRIBUTE_REFERENCE.sub(value, text) if "{" in text else text

    def picture(self, address: str, plain: list[str], named: dict[str, str]) -> str:
        """Return the HTML of a picture; ``imagesdir`` is the folder of pictures."""
        address = self.filled(address).strip()
        folder = self.attributes.get("imagesdir", "")
        if folder and not SCHEME.match(address) and not address.startswith("/"):
            address = f"{folder.rstrip('/')}/{address}"
        alt = named.get("alt") or (plain[0] if plain else "")
        return picture(address, "" if named.get("alt") == "" else alt or None)

    def html(self, text: str) -> str:
        """Return the HTML of a text."""
        fragments: list[str] = []

        def hold(html: str) -> str:
            fragments.append(html)
            return f"\ue000{len(fragments) - 1}\ue001"

        # The HTML of macros waits in ``fragments`` while quotes are replaced, which would change its addresses. The
        # marks that stand for it are private characters, which must not come from the text itself.
        text = self.filled(text.replace("\ue000", "").replace("\ue001", ""))
        text = escape(INLINE_MACRO.sub(lambda match: hold(self._macro(match)), text), quote=False)
        text = ENTITY.sub(r"&\1;", text)
        for expression, tag in QUOTES:
            text = expression.sub(rf"<{tag}>\g<inner></{tag}>", text)
        return HELD.sub(lambda match: fragments[int(match[1])] if int(match[1]) < len(fragments) else "", text)

    def _macro(self, match: re.Match[str]) -> str:
        parts = {name: value for name, value in match.groupdict().items() if value is not None}
        if "pass" in parts:
            return parts.get("raw", parts.get("plus", ""))
        if "term" in parts or "plain" in parts:
            return escape(parts.get("term", parts.get("plain", "")))
        if "image" in parts:
            return self.picture(parts["image"], *parse_attributes(parts["about"]))
        if "label" in parts or "to" in parts:
            label = parts.get("label", parts.get("to", "")).strip()
            label = label.rpartition("#")[2] or label
            link_text = parts.get("text", parts.get("title", "")).strip() or self.reference_texts.get(label, "")
            return reference(label, link_text, link_text or f"[{label}]")
        if "anchor" in parts or "place" in parts:
            return anchors([parts.get("anchor", parts.get("place", ""))])
        if "link" in parts or "url" in parts:
            address = parts.get("link", parts.get("url", ""))
            link_text = parts.get("shown", parts.get("name", "")).split(",")[0].rstrip("^") or address
            return f'<a href="{escape(address)}">{escape(link_text)}</a>'
        if "math" in parts:
            is_latex = "\\" in parts["math"] or not WORD.search(parts["math"])
            return escape((readable(parts["math"]) if is_latex else None) or parts["math"])
        return escape(parts.get("key", ""))


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

CODE = ("-", ".", "/", "`")  # beginnings of the delimiters of code and comments
DRAWN = frozenset(
    "plantuml mermaid graphviz ditaa blockdiag seqdiag actdiag nwdiag erd vega vegalite tikz svgbob".split()
)
CODE_STYLES = frozenset("source listing literal stem latexmath asciimath comment pass".split())
MAX_DEPTH = 30  # maximum depth of blocks within blocks


def read_asciidoc(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read an AsciiDoc file, with the files that it includes, as one flow."""
    includes = Includes(path, settings)
    texts = Texts()
    lines = _lines(REMOVED_CHARACTERS.sub("", decode_text(path)), path, includes, texts)
    body = "".join(_Blocks(texts).read(_without_header(lines), 0))
    tree = parse_html(f"<article>{body}</article>")
    fill_references(tree)
    language = language_code(texts.attributes.get("lang", ""))
    return [Flow(html_blocks(tree), language=language, unread=tuple(includes.unread))]


def _lines(text: str, path: Path, includes: Includes, texts: Texts) -> list[str]:
    """Return the lines of a file and of its included files, without those that conditions exclude.

    Attributes are set here already, since conditions and names of included files use them. ``_Blocks`` sets them a
    second time, so that each text gets the values at its place.
    """
    output: list[str] = []
    waiting = [(iter(text.splitlines()), path)]  # the open files, the innermost last
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
            _condition(condition, open_conditions, texts, output)
            continue
        if not all(open_conditions):
            continue
        if code:
            code = "" if stripped == code else code
        elif DELIMITER.fullmatch(stripped) and stripped[0] in CODE and stripped != "--":
            code = stripped
        elif include := INCLUDE.fullmatch(stripped):
            included = includes.text(texts.filled(include[1]).strip(), file)
            if included is not None:
                inner = REMOVED_CHARACTERS.sub("", included[1]).splitlines()
                # Empty lines, so that the text does not join the paragraphs around it.
                waiting.append((iter(["", *inner, ""]), included[0]))
            continue
        elif entry := ENTRY.fullmatch(stripped):
            texts.set(entry)
        # A line of code becomes an empty line, so that nothing in it is read; only the delimiters stay.
        output.append(stripped if code == "" or stripped == code else "")
    return output


def _condition(condition: re.Match[str], opened: list[bool], texts: Texts, output: list[str]) -> None:
    """Apply a condition: it decides about the text in its brackets, or without one about all lines to its ``endif``.

    ``ifeval`` counts as true.
    """
    kind, names, text = condition[1], condition[2], condition[3]
    if kind == "endif":
        del opened[-1:]
        return
    defined = [name.strip() in texts.attributes for name in re.split(r"[,+]", names)]
    holds = kind == "ifeval" or (all(defined) if "+" in names else any(defined)) == (kind == "ifdef")
    if text and kind != "ifeval":
        if holds and all(opened):
            output.append(text)
    else:
        opened.append(holds)


def _without_header(lines: list[str]) -> list[str]:
    """Return the lines without the authors and versions right below the title."""
    start = next((n for n, line in enumerate(lines) if line and not line.startswith("//")), 0)
    if not lines or not lines[start].startswith("= "):
        return lines
    end = start + 1
    while end < len(lines) and lines[end]:
        end += 1
    entries = [line for line in lines[start + 1 : end] if ENTRY.fullmatch(line)]
    return [*lines[: start + 1], *entries, *lines[end:]]


def _columns(cols: str) -> int:
    """Return the number of columns in ``cols="1,3*,2a"``; 0 if the attribute is not set."""
    repeats = (re.match(r"\s*(\d{1,3})\*", part) for part in re.split("[,;]", cols)) if cols else ()
    return sum(int(repeat[1]) if repeat else 1 for repeat in repeats)


class _Blocks:
    """One pass over the lines of a document, or of a block in it; titles and attributes wait for the next block."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.forget()

    def forget(self) -> None:
        """Forget title, identifiers, style and named attributes, which belong to one block only."""
        self.title, self.identifiers, self.style, self.named = "", list[str](), "", dict[str, str]()

    def read(self, lines: list[str], depth: int) -> list[str]:
        """Return the HTML of the blocks in the lines; ``depth`` counts the blocks around them."""
        output: list[str] = []
        at = 0
        while at < len(lines):
            line = lines[at]
            delimiter = "```" if FENCE.fullmatch(line) else line.rstrip() if DELIMITER.fullmatch(line) else ""
            if delimiter:
                end = at + 1
                while end < len(lines) and lines[end].rstrip() != delimiter:
                    end += 1
                output.append(self.delimited(delimiter, lines[at + 1 : end], depth))
                at = end + 1
                self.forget()
            elif self.prepares(line):
                at += 1
            else:
                html, at = self.block(lines, at)
                output.append(html)
                if line:
                    self.forget()
        return output

    def prepares(self, line: str) -> bool:
        """Return whether a line is no block: it prepares the next one (title, attributes, label), or has no effect."""
        if line.startswith("//") or line in ("+", "'''", "<<<") or MACRO.fullmatch(line):
            return True
        if entry := ENTRY.fullmatch(line):
            self.texts.set(entry)
        elif anchor := ANCHOR.fullmatch(line):
            self.identifiers.append(anchor[1])
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
        """Read a line of attributes: ``[style#id.role,name=value]``."""
        plain, named = parse_attributes(self.texts.filled(text))
        first = plain[0] if plain else ""
        self.style = re.split(r"[#.%]", first, maxsplit=1)[0].strip() or self.style
        self.identifiers += re.findall(r"#([\w:.-]+?)(?=[.%#]|$)", first)
        self.identifiers += [named["id"]] if "id" in named else []
        self.named |= named
        self.title = named.get("title", self.title)

    def delimited(self, delimiter: str, inner: list[str], depth: int) -> str:
        """Return the HTML of the block between two delimiters."""
        kind = delimiter[0]
        title = self.texts.html(self.title) if self.title else ""
        if self.style in DRAWN:
            name = self.identifiers[0] if self.identifiers else self.style
            return figure([made_by_code(name, self.named.get("alt"))], title, names=self.identifiers)
        if (kind in CODE and delimiter != "--") or self.style in CODE_STYLES or depth >= MAX_DEPTH:
            return ""
        if kind == "+":  # HTML that is passed through
            return "\n".join(inner)
        if delimiter[1:] == "===" and kind != "=":  # such as |===
            return self.table(inner, title, depth, kind)
        names, quote = list(self.identifiers), kind == "_"
        self.forget()
        html = "".join(self.read(inner, depth + 1))
        if title and "<img" in html:
            return figure([html], title, names=names)
        tag = "blockquote" if quote else "div"
        return f"<{tag}>{anchors(names)}{f'<p>{title}</p>' if title else ''}{html}</{tag}>"

    def table(self, lines: list[str], title: str, depth: int, kind: str) -> str:
        """Return the HTML of a table; where cells do not fill the rows, as merged ones, each is a row of its own."""
        names, text = list(self.identifiers), "\n".join(lines)
        whole_style = self.named.get("cols", "")
        self.forget()
        if kind in ",:":
            cells = [("", cell) for line in lines for cell in line.split(kind)]
        else:
            parts = CELL.split(text)
            cells = list(zip(parts[1::2], parts[2::2], strict=True))
        first_line = next((line for line in lines if line.strip()), "")
        width = _columns(whole_style) or (first_line.count(kind) + 1 if kind in ",:" else len(CELL.findall(first_line)))
        width = 1 if not width or len(cells) % width else width
        html = []
        for number, (style, cell) in enumerate(cells):
            html.append("</tr><tr>" if number and number % width == 0 else "")
            if style == "a" or (not style and re.search(r"(?:^|[,|>\d])a(?:[,|]|$)", whole_style)) or "image::" in cell:
                html.append("<td>" + "".join(self.read(cell.strip().splitlines(), depth + 1)) + "</td>")
                self.forget()
            else:
                html.append(f"<td>{self.texts.html(' '.join(cell.split()))}</td>")
        first = f' id="{escape(names[0])}"' if names else ""
        return f"<table{first}>{f'<caption>{title}</caption>' if title else ''}<tr>{''.join(html)}</tr></table>"

    def block(self, lines: list[str], at: int) -> tuple[str, int]:
        """Return the HTML of the block that begins at a line, and the number of the line after it."""
        line = lines[at]
        if not line:
            return "", at + 1
        if heading := HEADING.fullmatch(line):
            level = len(heading[1])
            self.identifiers += [anchor[0] for anchor in ANCHOR.findall(heading[2])]
            text = self.texts.html(ANCHOR.sub("", heading[2]))
            return f"{anchors(self.identifiers)}<h{level}>{text}</h{level}>", at + 1
        if image := IMAGE.fullmatch(line):
            return self.image(image), at + 1
        if self.style in CODE_STYLES or (line[0] in " \t" and not ITEM.fullmatch(line)):
            return "", self.end_of_text(lines, at)
        end = self.end_of_text(lines, at)
        if item := ITEM.fullmatch(line):
            return (
                f"<li>{anchors(self.identifiers)}{self.texts.html(' '.join([item[1], *lines[at + 1 : end]]))}</li>",
                end,
            )
        if term := TERM.fullmatch(line):
            rest = " ".join([term[2] or "", *lines[at + 1 : end]]).strip()
            return f"<dt>{self.texts.html(term[1])}</dt><dd>{self.texts.html(rest)}</dd>", end
        text = " ".join(piece.removesuffix(" +") for piece in lines[at:end])
        tag = "blockquote" if self.style in ("quote", "verse") else "p"
        title = f"<p>{self.texts.html(self.title)}</p>" if self.title else ""
        html = self.texts.html(ADMONITION.sub("", text, count=1))
        return f"{title}<{tag}>{anchors(self.identifiers)}{html}</{tag}>", end

    def end_of_text(self, lines: list[str], at: int) -> int:
        """Return the number of the line after the text that begins at a line."""
        at += 1
        while at < len(lines) and (line := lines[at]):
            if DELIMITER.fullmatch(line) or line == "+" or ANCHOR.fullmatch(line) or IMAGE.fullmatch(line):
                break
            if ITEM.fullmatch(line) or TERM.fullmatch(line) or line.startswith("//") or ATTRIBUTES.fullmatch(line):
                break
            at += 1
        return at

    def image(self, image: re.Match[str]) -> str:
        """Return the HTML of ``image::a.png[...]`` with its title as caption."""
        plain, named = parse_attributes(self.texts.filled(image[2]))
        title = named.get("title") or self.title
        names = [*self.identifiers, *([named["id"]] if "id" in named else [])]
        html = self.texts.picture(image[1], plain, named)
        return figure([html], self.texts.html(title) if title else "", names=names)
