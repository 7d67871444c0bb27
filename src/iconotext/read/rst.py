"""reStructuredText → blocks, by docutils; what Sphinx adds to it is in ``sphinx.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.blocks import Flow
from iconotext.read.cross_references import fill_references
from iconotext.read.figure_html import picture_attributes
from iconotext.read.html import REMOVED_CHARACTERS, html_blocks, parse_html
from iconotext.read.include import Includes
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

if TYPE_CHECKING:
    from docutils import nodes

TAGS = {
    "paragraph": "p", "line": "p", "attribution": "p", "rubric": "p", "field_name": "dt", "field_body": "dd",
    "subtitle": "p", "list_item": "li", "term": "dt", "definition": "dd", "block_quote": "blockquote", "entry": "td",
    "row": "tr", "figure": "figure", "caption": "figcaption", "legend": "div", "emphasis": "em", "strong": "strong",
    "literal": "code", "literal_block": "pre", "doctest_block": "pre", "reference": "a", "image": "img",
    "table": "table", "math": "span",
}  # fmt: skip
"""What an element of docutils is in HTML; any other is a ``span`` within a text, else a ``div``."""

SKIPPED = frozenset(
    "comment system_message math_block substitution_definition docinfo label footnote_reference pending meta "
    "decoration generated colspec".split()
)


def read_rst(path: Path, settings: ReadSettings) -> list[Flow]:
    """A reStructuredText file, with what Sphinx knows beside it, as one flow."""
    from docutils.core import publish_doctree

    from iconotext.read.sphinx import MAX_LINE, BoundedParser, check_lines, register_names, resolve_labels

    text = REMOVED_CHARACTERS.sub("", decode_text(path)).expandtabs(8)
    includes = Includes(path, settings)
    check_lines(text)
    register_names(text)
    document = publish_doctree(
        text,
        source_path=str(path),
        parser=BoundedParser(),
        settings_overrides={
            "_disable_config": True,  # no file of the user's or of the folder says how to read
            "file_insertion_enabled": False,  # docutils' own way to take in any file of the machine
            "doctitle_xform": False,
            "halt_level": 6,
            "report_level": 6,
            "warning_stream": False,
            "line_length_limit": MAX_LINE,
            "smart_quotes": False,
            "iconotext_includes": includes,
        },
    )
    resolve_labels(document)
    root = etree.Element("article")
    _append(document, root, 0)
    fill_references(root)
    return [Flow(html_blocks(root), unread=tuple(includes.unread))]


def _append(node: nodes.Node, parent: Any, depth: int) -> None:
    """Put a node and what is in it at the end of an HTML element; ``depth`` counts the sections around it."""
    from docutils import nodes

    if isinstance(node, nodes.Text):
        _text(parent, node.astext())
        return
    if not isinstance(node, nodes.Element) or node.tagname in SKIPPED:
        return
    if node.tagname == "raw":
        _raw(node, parent)
        return
    within_text = isinstance(node.parent, nodes.TextElement | nodes.figure | nodes.reference)
    if node.tagname == "image" and not within_text:
        parent = etree.SubElement(parent, "p")
    element = etree.SubElement(parent, _tag(node, depth))
    _identify(node, element, parent)
    if node.tagname == "image":
        for name, value in picture_attributes(node["uri"], node.get("alt")).items():
            element.set(name, value)
    elif node.tagname == "reference":
        element.set("href", f"#{node['refid']}" if "refid" in node else node.get("refuri", ""))
        if "shown" in node:
            element.set("data-shown", node["shown"])
    elif node.tagname == "math":
        element.text = f"${node.astext()}$"
        return
    for child in node.children:
        _append(child, element, depth + (node.tagname == "section"))


def _tag(node: nodes.Element, depth: int) -> str:
    from docutils import nodes

    if node.tagname == "title":
        if isinstance(node.parent, nodes.section):
            return f"h{min(max(depth, 1), 6)}"
        return "caption" if isinstance(node.parent, nodes.table) else "p"
    return TAGS.get(node.tagname) or ("span" if isinstance(node.parent, nodes.TextElement) else "div")


def _identify(node: nodes.Element, element: Any, parent: Any) -> None:
    """Give an element its names; those of a picture beyond the first are empty marks right before it."""
    from docutils import nodes

    if isinstance(node, nodes.section):  # it holds all its pictures, so its names are its heading's
        return
    is_heading = isinstance(node, nodes.title) and isinstance(node.parent, nodes.section)
    names: list[str] = (node.parent if is_heading else node).get("ids", [])
    if names:
        element.set("id", names[0])
    for name in names[1:]:
        mark = etree.Element("span", id=name)
        if node.tagname == "figure":
            element.append(mark)
        else:
            parent.insert(parent.index(element), mark)


def _text(parent: Any, text: str) -> None:
    """Add text at the end of an element."""
    text = REMOVED_CHARACTERS.sub("", text)
    last = next(parent.iterchildren(reversed=True), None)  # len(parent) would count all of them each time
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _raw(node: nodes.Element, parent: Any) -> None:
    """HTML that the author wrote is read as such; raw text of other kinds is not shown on a page."""
    if "html" not in node.get("format", "").split():
        return
    try:
        body = parse_html(node.astext()).find("body")
    except DocumentError as error:
        if isinstance(error, HostileDocumentError):
            raise
        return  # no element in it
    if body is not None:
        body.tag = "div"
        parent.append(body)
