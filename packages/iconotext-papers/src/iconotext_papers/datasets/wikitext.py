"""Converts MediaWiki markup to the running text of an article, paragraph by paragraph: ``paragraphs``.

``named_images`` finds the pictures of an article. The markup is parsed by mwparserfromhell; this module decides which
parts are text. Left out with their contents are templates, tables, references, galleries, formulas and the like,
pictures with their captions, categories, links to other languages, headings, comments and magic words. Rests of
unclosed markup in the parser's output are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from iconotext_papers import need

if TYPE_CHECKING:
    from mwparserfromhell.nodes import HTMLEntity, Tag, Wikilink
    from mwparserfromhell.wikicode import Wikicode

HIDDEN = frozenset(
    (
        "ref references gallery table math ce chem timeline imagemap score graph hiero categorytree inputbox "
        "syntaxhighlight source code pre templatedata templatestyles script style includeonly noinclude"
    ).split()
)
"""Elements that contain no running text."""

BLOCKS = frozenset("p div br hr li ul ol dl dt dd blockquote center h1 h2 h3 h4 h5 h6 tr td th caption".split())
"""Elements that end a paragraph before and after them."""

NO_TEXT = frozenset(("image", "file", "media", "category"))
LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z-]+)?|simple", re.ASCII)
"""Prefixes of a link to another language, which is shown in the margin; CSI: Miami, in contrast, is an article."""

REDIRECT = re.compile(r"\s*#redirect\b", re.IGNORECASE)
MAGIC = re.compile(r"__[A-Z]+__")
QUOTES = re.compile(r"'{2,}")
IMAGE = re.compile(r"\[\[\s*(?:image|file)\s*:[^\n]*", re.IGNORECASE)
"""A picture whose brackets are never closed."""

TAG = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>|<!--.*?(?:-->|$)", re.DOTALL)
UNCLOSED = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}")
ADDRESS = re.compile(r"\[?\b(?:https?|ftp)://[^\s<>\[\]]+\]?")
EMPTY = re.compile(r"\(\s*[,;:]*\s*\)|\[\s*\]")
BEFORE_MARK = re.compile(r"\s+([,.;:!?)])(?=\s|$)")
RESIDUE = re.compile(r"[|!{}]|[*#:;=-]+$")
"""Beginning of a line that is the rest of a table or a template, or a rule."""

OPENINGS = (("{{", "}}"), ("[[", "]]"))
MAX_UNCLOSED = 50
"""Largest number of unclosed templates or links in an article; for each of them the parser reads the rest once more."""

GONE = "\x00"
"""Placeholder for removed markup, so that its line does not become an empty one."""

NAMED = re.compile(
    r"""(?:\b(?:image|file)\s*:|[=|\n])\s*  # [[Image:a.jpg|...]], {{Infobox | picture = a.jpg}}, a line of a gallery
        ([^|=\[\]{}<>\n:/]{1,240}\.(?:jpe?g|png|gif|svg|tiff?|xcf|bmp))\b""",
    re.IGNORECASE | re.VERBOSE,
)


def paragraphs(markup: str) -> list[str]:
    """Return the paragraphs and list items of an article; ``ValueError`` if its markup cannot be parsed.

    Each is on one line. A page that redirects to another has none.
    """
    need("mwparserfromhell")
    import mwparserfromhell
    from mwparserfromhell.parser import ParserError

    if REDIRECT.match(markup):
        return []
    _check_closed(markup)
    try:
        code = mwparserfromhell.parse(MAGIC.sub("", markup.replace(GONE, "")), skip_style_tags=True)
    except (ParserError, RecursionError) as error:
        raise ValueError(f"its markup cannot be taken apart ({error})") from error
    text = TAG.sub(" ", "".join(_text_parts(code)))
    text = QUOTES.sub("", ADDRESS.sub(" ", IMAGE.sub(" ", text)))
    clean_paragraphs = []
    for block in re.split(r"\n\s*\n", text):
        lines = (line.strip() for line in block.replace(GONE, "").split("\n"))
        joined = " ".join(line for line in lines if line and not RESIDUE.match(line))
        clean = EMPTY.sub(" ", UNCLOSED.sub(" ", joined))
        clean = BEFORE_MARK.sub(r"\1", " ".join(clean.split()))
        if any(character.isalnum() for character in clean):
            clean_paragraphs.append(clean)
    return clean_paragraphs


def _check_closed(markup: str) -> None:
    for opening, closing in OPENINGS:
        depth = 0
        for match in re.finditer(f"{re.escape(opening)}|{re.escape(closing)}", markup):
            depth = depth + 1 if match[0] == opening else max(depth - 1, 0)
        if depth > MAX_UNCLOSED:
            raise ValueError(f"its markup cannot be taken apart: {depth} times {opening} without {closing}")


def named_images(markup: str) -> list[str]:
    """Names of files of pictures in an article, in order, each once, as ``image_name`` gives them.

    All that looks like one counts, wherever it stands: also in templates and galleries.
    """
    return list(dict.fromkeys(image_name(match[1]) for match in NAMED.finditer(markup)))


def image_name(name: str) -> str:
    """A name as the wiki knows it: ``_`` is a space, and the first letter is a capital.

    >>> image_name("mona_Lisa.jpg ")
    'Mona Lisa.jpg'
    """
    text = " ".join(name.replace("_", " ").split())
    return text[:1].upper() + text[1:]


def _text_parts(code: Wikicode) -> Iterator[str]:
    """Yield the text of a part of the markup, with empty lines between paragraphs."""
    from mwparserfromhell.nodes import ExternalLink, Heading, HTMLEntity, Tag, Text, Wikilink

    for node in code.nodes:
        match node:
            case Text():
                yield node.value
            case Wikilink():
                yield from _link(node)
            case Tag():
                yield from _tag(node)
            case ExternalLink():
                yield from () if node.title is None else _text_parts(node.title)
            case HTMLEntity():
                yield _character(node)
            case Heading():
                yield "\n\n"
            case _:  # a template, its parameter, a comment
                yield GONE


def _link(node: Wikilink) -> Iterator[str]:
    title = str(node.title).strip()
    prefix, colon, rest = title.partition(":")
    to_language = node.text is None and LANGUAGE.fullmatch(prefix) and rest.strip() and not rest.startswith(" ")
    if to_language or (colon and prefix.strip().lower() in NO_TEXT):
        yield GONE
    elif node.text is not None and str(node.text).strip():
        yield from _text_parts(node.text)
    else:
        yield title.lstrip(":")


def _tag(node: Tag) -> Iterator[str]:
    name = str(node.tag).strip().lower()
    if name in HIDDEN:
        yield "\n\n" if name in ("table", "gallery", "pre", "source", "syntaxhighlight") else GONE
        return
    if name in BLOCKS:
        yield "\n\n" if name != "br" else "\n"
    if node.contents is not None:
        yield from _text_parts(node.contents)
    if name in BLOCKS and node.contents:
        yield "\n\n"


def _character(node: HTMLEntity) -> str:
    try:
        character = str(node.normalize())
    except (ValueError, OverflowError):
        return " "
    return character if character.isprintable() else " "
