"""MDX → Markdown with HTML: its JSX and modules of JavaScript, as Docusaurus, Astro, Nextra and Mintlify read them.

Nothing is run. Elements become HTML, components that show a picture an ``<img>``, other components their content;
imports, exports, expressions and comments go. An address is known if it is written out, imported, or required.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING

from iconotext.plain_text import shortened
from iconotext.read import formulas
from iconotext.read.address import IMAGE_NAME, MADE_BY_CODE
from iconotext.read.blocks import SPACE
from iconotext.read.html import INLINE, UNKNOWN_ALT
from iconotext.read.positions import EditedText

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
SHOWS = re.compile(r"ima?ge?$|^pic(?:ture)?$|^(?:image|img|picture|zoom)", re.IGNORECASE)
"""Names of components that show the picture in ``src``, whatever its address looks like."""
ADDRESSES = ("src", "source", "sources", "img", "image", "url", "light", "cover")
TITLES = ("title", "label")
"""Attributes of components whose text readers see above the content."""

IMPORT = re.compile(r"""\bimport[ \t]+([\w$]+)[ \t]*(?:,[^'"\n]{0,300})?[ \t]from[ \t]*["']([^"'\n]{1,1000})["']""")
CONSTANT = re.compile(r"""\bconst[ \t]+([\w$]+)(?:[ \t]*:[^=\n]{1,100})?[ \t]*+=([^\n]{1,1000})$""", re.MULTILINE)
MODULE = re.compile(
    r"""^import[ \t]+(?:[^'"\n;]{1,300}[ \t}]from[ \t]+)?["'][^'"\n]{1,300}["'](?:;|[ \t]*$)""", re.MULTILINE
)

LITERAL = re.compile(r"""\s*(?:"([^"\\\n]*)"|'([^'\\\n]*)'|`([^`\\$]*)`|(\d{1,9}))\s*""")
REQUIRED = re.compile(r"""\s*require\(\s*["']([^"'\n]+)["']\s*\)(?:\.(?:default|src|url))*\s*""")
FROM_ROOT = re.compile(r"""\s*(?:useBaseUrl|withBase|withBasePath|assetUrl)\(\s*(["'][^"'\n]*["'])[^()]*\)\s*""")
VARIABLE = re.compile(r"\s*([\w$]+)(?:\.(?:src|default|url))*\s*")
QUOTED = re.compile(r"""["'`]([^"'`\n$]{1,1000})["'`]""")

# Quantifiers with + behind them give nothing back, and strings are bounded, so that reading takes linear time.
TOKEN = re.compile(
    r"""(?<!:)//[^\n]*+|/\*.*?(?:\*/|\Z)|'(?:\\.|[^'\\\n]){0,500}+'|"(?:\\.|[^"\\\n]){0,500}+"|`(?:\\.|[^`\\])*+(?:`|\\?\Z)|[{}]""",
    re.DOTALL,
)
"""A piece of JavaScript that matters for finding where it ends."""
COMMENT = re.compile(r"(?<!:)//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
STATEMENT = re.compile(rf"{TOKEN.pattern}|[()\[\]]|(?P<blank>\n[ \t]*+(?=\n|\Z))", re.DOTALL)
STATEMENT_START = (
    r"import[ \t]+(?:type[ \t]+)?(?:[\"'{*]|[\w$]+[ \t]*,|[\w$]+[ \t]+from[ \t]+[\"'])"
    r"|export[ \t]+(?:default|const|let|var|async|function|class|type|interface|enum)\b|export[ \t]*[{*]"
)
"""The beginning of a line of JavaScript, and not of a sentence: "import of cars"."""
NEXT = re.compile(
    r"^(?P<fence>[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(?P<ticks>`{3,}+|~{3,}+))"
    rf"|^(?P<esm>{STATEMENT_START})|^[ \t>]*+:::[^\n]*+"
    rf"|(?P<code>`++)|(?P<formula>{formulas.FORMULA})|\\.|(?P<comment><!--)|(?P<tag><(?=[A-Za-z_$/>]))|(?P<brace>\{{(?![#.]\S))",
    re.MULTILINE,
)
INDENTED = re.compile(r"^(?: {4}|\t).*[<{]", re.MULTILINE)
BLANK = re.compile(r"\n[ \t]*+\n")
NAME = re.compile(r"[A-Za-z_$][\w$.:-]*+")
SPACES = re.compile(r"\s*+")
PREFIX = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+")
"""The marks of quotations and lists that may stand before an element in a line of its own."""
LINE_REST = re.compile(r"[ \t]*+(?:\n|\Z)")
BLOCK_TAG = re.compile(r"</?([a-z][a-z0-9]*)")


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag of JSX: ``attributes`` maps names to a text, an expression in braces, or None for one without value."""

    start: int
    end: int
    name: str
    attributes: dict[str, str | None]
    closing: bool = False
    empty: bool = False


class Source:
    """An MDX text, in which the ends of expressions, statements and code are found; each character is read once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._closing: dict[int, int] = {}  # the place of an opening brace, to that behind its closing one
        self._scanned = 0
        self._paragraph_end = 0
        self._statements_end = True  # whether the brackets of all statements so far are closed

    def expression_end(self, start: int) -> int | None:
        """Return the place behind an expression that begins with the brace at ``start``; None if it has no end."""
        if start >= self._scanned:
            opened: list[int] = []
            for token in TOKEN.finditer(self.text, start):
                if token[0] == "{":
                    opened.append(token.start())
                elif token[0] == "}":
                    self._closing[opened.pop()] = token.end()
                if not opened:
                    break
            self._scanned = len(self.text) if opened else self._closing[start]
        return self._closing.get(start)

    def statement_end(self, start: int) -> int:
        """Return the place behind imports and exports: at a blank line outside of all brackets."""
        depth, first_blank = 0, len(self.text)
        for token in STATEMENT.finditer(self.text, start):
            if token["blank"] is not None:
                first_blank = min(first_blank, token.start())
                if depth <= 0 or not self._statements_end:
                    return token.start()
            depth += (token[0] in "([{") - (token[0] in ")]}")
        self._statements_end &= depth <= 0
        return first_blank if depth > 0 else len(self.text)

    def code_end(self, start: int, ticks: str) -> int:
        """Return the place behind inline code; behind its first ticks if nothing closes it."""
        if start >= self._paragraph_end:
            blank = BLANK.search(self.text, start)
            self._paragraph_end = blank.start() if blank else len(self.text)
        begin = start + len(ticks)
        close = re.compile(rf"(?<!`){ticks}(?!`)").search(self.text, begin, max(self._paragraph_end, begin))
        return close.end() if close else begin

    def fence_end(self, start: int, ticks: str) -> int:
        """Return the place behind a block of code whose opening fence ends at ``start``."""
        close = re.compile(rf"^[ \t>]*+{ticks}{ticks[0]}*+[ \t]*+$", re.MULTILINE).search(self.text, start)
        return close.end() if close else len(self.text)

    def tag(self, start: int) -> Tag | None:
        """Return the tag at ``start``; None if there is none."""
        text, at = self.text, start + 1
        closing = text.startswith("/", at)
        name = NAME.match(text, at + closing)
        at = name.end() if name else at + closing
        attributes: dict[str, str | None] = {}
        while True:
            at = SPACES.match(text, at).end()  # type: ignore[union-attr]  # matches everywhere
            if text.startswith(("/>", ">"), at):
                empty = text[at] == "/"
                return Tag(start, at + 1 + empty, name[0] if name else "", attributes, closing, empty)
            if text.startswith("{", at):  # {...props}, a comment
                end = self.expression_end(at)
            else:
                key = NAME.match(text, at)
                end = self._value(key, attributes) if key else None
            if end is None:
                return None
            at = end

    def _value(self, key: re.Match[str], attributes: dict[str, str | None]) -> int | None:
        """Read the value of an attribute, and return the place behind it; None if it is none."""
        text, at = self.text, SPACES.match(self.text, key.end()).end()  # type: ignore[union-attr]
        if not text.startswith("=", at):
            attributes[key[0]] = None
            return key.end()
        at = SPACES.match(text, at + 1).end()  # type: ignore[union-attr]
        quote = text[at : at + 1]
        if quote == "{":
            end = self.expression_end(at)
        elif quote in ('"', "'"):
            end = text.find(quote, at + 1) + 1 or None
        else:
            return None
        if end is not None:
            attributes[key[0]] = text[at:end]
        return end


def holds_jsx(text: str) -> bool:
    """Return whether a Markdown text imports modules, or has tags with JavaScript; its site then reads it as MDX."""
    if "={" not in text and not MODULE.search(text):
        return False
    for part in _Jsx(_without_indented_code(text)).parts():
        if isinstance(part, Tag):
            if any(value and value[0] == "{" != value[1] for value in part.attributes.values()):
                return True
        elif MODULE.match(text, part[0]):
            return True
    return False


def _without_indented_code(text: str) -> str:
    """Return Markdown with blank lines in place of its indented code, which MDX has not."""
    from markdown_it import MarkdownIt

    lines = text.splitlines(keepends=True)
    for token in MarkdownIt("commonmark").parse(text) if INDENTED.search(text) else ():
        if token.type == "code_block" and token.map:
            lines[slice(*token.map)] = ["\n"] * (token.map[1] - token.map[0])
    return "".join(lines)


def jsx_to_html(text: str) -> EditedText:
    """Return MDX as Markdown with HTML."""
    edited = EditedText(text)
    edited.replace(_Jsx(text).replacements())
    return edited


class _Jsx:
    def __init__(self, text: str) -> None:
        self.source = Source(text)
        self.text = text
        self.values: dict[str, str] = {}  # of imports and constants
        self.captions: list[tuple[str, str]] = []  # open components: their name, and what stands at their end

    def replacements(self) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        run: list[Tag] = []  # tags in a row, with nothing between them
        for part in self.parts():
            if run and (isinstance(part, tuple) or self.text[run[-1].end : part.start].strip(" \t")):
                found += self.html_of(run)
                run = []
            if isinstance(part, tuple):
                found.append(part)
            else:
                run.append(part)
        return found + self.html_of(run)

    def parts(self) -> Iterator[Tag | tuple[int, int, str]]:
        """Yield the tags in the text, and the ranges of code with what replaces them."""
        source, at = self.source, 0
        while (found := NEXT.search(self.text, at)) is not None:
            start, at = found.start(), found.end()
            match found.lastgroup:
                case "ticks" | "fence":
                    at = source.fence_end(at, found["ticks"])
                case "code":
                    at = source.code_end(start, found[0])
                case "formula":  # its braces are no expressions
                    at = at if formulas.shown(found[0]) is not None else start + 1
                case "comment":
                    at = self.text.find("-->", at) + 3
                    at = at if at > 2 else len(self.text)
                    yield start, at, ""
                case "esm":
                    at = source.statement_end(start)
                    self.values |= self.constants(self.text[start:at])
                    yield start, at, ""
                case "tag":
                    tag = source.tag(start)
                    if tag is not None:
                        at = tag.end
                        yield tag
                case "brace":
                    end = source.expression_end(start)
                    if end is not None:
                        at = end
                        yield start, end, self.shown(self.text[start + 1 : end - 1])

    def constants(self, code: str) -> dict[str, str]:
        """Return the addresses and texts to which a module gives names."""
        values = {name: address for name, address in IMPORT.findall(code) if IMAGE_NAME.search(address)}
        resolved = ((name, self.value("{" + value.strip("; \t") + "}")) for name, value in CONSTANT.findall(code))
        return values | {name: value for name, value in resolved if value is not None}

    def shown(self, code: str) -> str:
        """Return what an expression shows: a written text, and pictures with their tags; nothing of code is text."""
        literal = LITERAL.fullmatch(code)
        if literal:
            return "".join(c if c.isalnum() or c.isspace() else f"&#{ord(c)};" for c in _first(literal))
        if "<" not in code:
            return ""
        inner = _Jsx(COMMENT.sub("", code))
        inner.values = self.values
        tags = (part for part in inner.tags_in_code() if not part.closing)
        return "".join(inner.picture(tag) or "" for tag in tags)

    def tags_in_code(self) -> Iterator[Tag]:
        at = 0
        while (found := re.compile(r"<(?=[A-Za-z])").search(self.text, at)) is not None:
            tag = self.source.tag(found.start())
            at = tag.end if tag else found.end()
            if tag:
                yield tag

    def html_of(self, run: list[Tag]) -> list[tuple[int, int, str]]:
        """Return the HTML of tags in a row; tags in lines of their own are blocks, and what they hold is Markdown."""
        if not run:
            return []
        texts = [self.html(tag) for tag in run]
        begin = self.text.rfind("\n", 0, run[0].start) + 1
        before = self.text[begin : run[0].start]
        prefix = PREFIX.fullmatch(before)
        if prefix and LINE_REST.match(self.text, run[-1].end):
            line = "\n" + re.sub(r"[^\s>]", " ", before)
            texts[0] = line.rstrip(" \t") + line + texts[0] if before.strip(" \t>") == "" else texts[0]
            texts[-1] += line.rstrip(" \t") + "\n"
        return [(tag.start, tag.end, text) for tag, text in zip(run, texts, strict=True)]

    def html(self, tag: Tag) -> str:
        name = tag.name
        is_element = name.islower() and "." not in name and ":" not in name
        if tag.closing:
            if self.captions and self.captions[-1][0] == name:
                return self.captions.pop()[1]
            return f"</{name}>" if is_element else ""
        if is_element and name != "img":
            closed = "" if not tag.empty or name in VOID else f"</{name}>"
            return self.element(name, tag) + closed
        picture = self.picture(tag) or ""
        if tag.empty or name in ("", "img"):
            return picture
        caption, title = self.value(tag.attributes.get("caption")), None
        title = next((text for key in TITLES if (text := self.value(tag.attributes.get(key)))), None)
        self.captions.append((name, f"<figcaption>{escape(caption)}</figcaption></figure>" if caption else ""))
        return ("<figure>" if caption else "") + picture + (f"<p>{escape(title)}</p>" if title else "")

    def element(self, name: str, tag: Tag) -> str:
        """Return an element with those of its attributes whose value is known."""
        known = {key.lower(): self.value(value) for key, value in tag.attributes.items() if key != "style"}
        known["class"] = known.pop("classname", known.get("class"))
        return _opening(name, known)

    def picture(self, tag: Tag) -> str | None:
        """Return the ``<img>`` of an element or a component that shows a picture; else None."""
        source = self.picture_source(tag)
        if source is None:
            return None
        alt = tag.attributes.get("alt", "" if "alt" in tag.attributes else None)
        known = {key: self.value(tag.attributes.get(key)) for key in ("title", "width", "height", "id", "role")}
        known |= {"src": source, "alt": self.value(alt), "aria-hidden": self.value(tag.attributes.get("aria-hidden"))}
        if alt is not None and known["alt"] is None:
            known[UNKNOWN_ALT] = ""
        image = _opening("img", known)
        caption = self.value(tag.attributes.get("caption")) if tag.empty else None
        return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>" if caption else image

    def picture_source(self, tag: Tag) -> str | None:
        """Return the address of the picture that a tag shows; None if it shows none."""
        attributes = tag.attributes
        always = tag.name == "img" or SHOWS.search(tag.name.rpartition(".")[2]) is not None
        names = ("src",) if tag.name.islower() else (*ADDRESSES, *attributes)
        for name in names:
            written = attributes.get(name)
            value = self.value(written)
            # Some components complete the name of a file themselves: <Device img="deck.svg">.
            if value and ((always and name == "src") or ("/" in value and IMAGE_NAME.search(value))):
                return value
            if value is None and written and name in ADDRESSES:
                others = (text for text in QUOTED.findall(written) if IMAGE_NAME.search(text))
                if other := next(others, None):
                    return _from_root(other) if "BaseUrl" in written else other
        computed = attributes.get("src") if always else None
        code = SPACE.sub(" ", computed[1:-1]).strip() if computed and computed[0] == "{" else ""
        return f"{MADE_BY_CODE}:{shortened(code, 60)}" if code else None

    def value(self, written: str | None) -> str | None:
        """Return the value of an attribute, as far as it is known without running code."""
        if not written or written[0] != "{":
            return None if written is None else SPACE.sub(" ", unescape(written[1:-1]))
        code = written[1:-1]
        if literal := LITERAL.fullmatch(code):
            return SPACE.sub(" ", _first(literal))
        if required := REQUIRED.fullmatch(code):
            return required[1]
        if rooted := FROM_ROOT.fullmatch(code):
            return _from_root(rooted[1][1:-1])
        variable = VARIABLE.fullmatch(code)
        return self.values.get(variable[1]) if variable else None


def _opening(name: str, attributes: Mapping[str, str | None]) -> str:
    shown = (f' {key}="{escape(value)}"' for key, value in attributes.items() if value is not None)
    return f"<{name}{''.join(shown)}>"


def _first(literal: re.Match[str]) -> str:
    return next(text for text in literal.groups() if text is not None)


def _from_root(address: str) -> str:
    """Return the address that a site gives to a path below its root."""
    return address if re.match(r"/|[a-z]+:", address) else "/" + address


def read_as_mdx(parser: MarkdownIt) -> None:
    """Let a Markdown parser read MDX: without indented code, and with Markdown in elements."""
    parser.disable(["code", "html_block"])
    for rule in parser.block.ruler.__rules__:
        if rule.name in ("list", "reference", "lheading", "paragraph"):
            parser.block.ruler.at(rule.name, _at_its_indent(rule.fn), {"alt": rule.alt})
    parser.core.ruler.push("hide_paragraphs_of_tags", _hide_paragraphs_of_tags)


def _at_its_indent(rule: Callable[[StateBlock, int, int, bool], bool]) -> Callable[[StateBlock, int, int, bool], bool]:
    """Wrap a rule so that its block may be indented: else a list within an element would be one paragraph."""

    def run(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        if silent:
            return rule(state, first, last, silent)
        indent, state.blkIndent = state.blkIndent, max(state.blkIndent, state.sCount[first])
        found = rule(state, first, last, silent)
        state.blkIndent = indent
        return found

    return run


def _hide_paragraphs_of_tags(state: StateCore) -> None:
    """Leave out the paragraphs that a Markdown parser puts around elements of their own."""
    tokens = state.tokens
    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type != "paragraph_open" or not inline.children:
            continue
        children = [child for child in inline.children if child.type != "softbreak"]
        first = BLOCK_TAG.match(children[0].content) if children else None
        only_tags = all(child.type == "html_inline" and child.content[:4] != "<img" for child in children)
        if only_tags or (first is not None and first[1] not in INLINE):
            opening.hidden = closing.hidden = True
