"""reStructuredText → blocks, by docutils, with the roles and directives that Sphinx adds."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, Parser, directives, roles
from docutils.parsers.rst.languages import en
from docutils.parsers.rst.states import Inliner
from docutils.transforms import Transform
from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.address import MADE_BY_CODE
from iconotext.read.blocks import Flow
from iconotext.read.cross_references import TITLED, fill_references, numref_text, picture_attributes
from iconotext.read.formulas import readable
from iconotext.read.html import REMOVED_CHARACTERS, html_blocks, parse_html
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import Includes, decode_text

MAX_LINE = 100_000  # maximum number of characters of a line; docutils takes long for each mark in a long line
MAX_DEPTH = 255  # maximum depth of indentations; docutils copies all lines for each of them

MAX_STEPS = 300_000_000
"""Maximum number of characters that docutils may search: for each mark of a document, the rest of its paragraph."""

LONG_WORD = re.compile(r"\S{100,}")
MARK = re.compile(r"[*`|@_\[]|://")

SUBSTITUTION = re.compile(r"^[ \t]*+\.\. +\|", re.MULTILINE)
"""Beginning of a definition; docutils takes quadratic time to parse many of them."""

MAX_NOTES, MAX_SUBSTITUTIONS, MAX_SUBSTITUTED, MAX_NAMES = 5_000, 2_000, 100_000, 1_000
"""Maximum numbers of footnotes, and of citations; of substitutions, defined and made; of names of one place."""

ROLE = re.compile(r":([A-Za-z][\w.+-]{0,50}(?::[A-Za-z][\w.+-]{0,50}){0,3}):`")
DIRECTIVE = re.compile(
    r"^[ \t]*+(?:- |\* )?\.\. (?:\|[^|\n]{1,200}\| )?+([A-Za-z][\w:.+-]{0,80}?)::(?=\s|$)", re.MULTILINE
)

REFERENCES = frozenset("ref numref any".split())
DRAWN = frozenset(
    "plot graphviz digraph graph mermaid uml plantuml tikz blockdiag seqdiag nwdiag actdiag chart inheritance-diagram "
    "drawio-figure drawio-image bokeh-plot altair-plot pyvista-plot".split()
)
"""Directives that become a picture when the document is rendered."""

NO_TEXT = frozenset(
    "toctree code-block sourcecode literalinclude highlight index tabularcolumns default-domain currentmodule module "
    "automodule autoclass autofunction automethod autosummary autodata autoattribute autoexception program "
    "testcode testsetup testcleanup testoutput doctest jupyter-execute jupyter-kernel ipython exec-code execute_code "
    "youtube vimeo video raw-html sectionauthor codeauthor productionlist prompt parsed-literal bibliography "
    "contents meta csv-table-file ifconfig only-latex sidebar-links tags".split()
)
"""Directives without prose."""

TEXT_IN_ARGUMENT = frozenset(
    "versionadded versionchanged deprecated seealso tab-item tab card grid-item-card dropdown details tip-box "
    "exercise theorem proof definition example solution centered hint".split()
)
"""Directives whose argument is text or a title that readers see."""


def _bounded_inliner() -> Inliner:
    """Make docutils' inliner refuse texts whose marks take minutes to match; it does not allow subclasses."""
    inliner, steps = Inliner(), 0
    parse: Callable[..., Any] = inliner.parse

    def bounded(text: str, *arguments: Any) -> Any:
        nonlocal steps
        steps += len(text) * sum(1 for _ in MARK.finditer(text))
        steps += sum(len(word[0]) ** 2 for word in LONG_WORD.finditer(text))  # searched again from each character
        if steps > MAX_STEPS:
            raise HostileDocumentError("it has more marks in its paragraphs, or longer words, than any text: split it")
        return parse(text, *arguments)

    vars(inliner)["parse"] = bounded
    return inliner


class _Bounds(Transform):
    """A transform that runs before those of docutils, which take quadratic time for many notes and names."""

    default_priority = 1

    def apply(self) -> None:
        document = self.document
        definitions = document.substitution_defs
        run = longest = 0
        for target in document.findall(nodes.target):  # consecutive targets name one place
            run = run + 1 if isinstance(target.previous_sibling(), nodes.target) else 1
            longest = max(longest, run if not target.hasattr("refuri") else 0)
        notes = (document.footnotes, document.autofootnotes, document.symbol_footnotes)
        for count, most, name in (
            (sum(map(len, notes)), MAX_NOTES, "notes"),
            (len(document.citations), MAX_NOTES, "citations"),
            (len(definitions), MAX_SUBSTITUTIONS, "substitutions"),
            (_substituted(document), MAX_SUBSTITUTED, "texts that substitutions stand for"),
            (longest, MAX_NAMES, "names of one place"),
        ):
            if count > most:
                raise HostileDocumentError(f"it has more than {most:,} {name}: split it")


def _substituted(document: nodes.document) -> int:
    """Return the number of substitutions that docutils will make, counting nested ones each time."""
    sizes: dict[str, int] = {}

    def size(element: nodes.Element) -> int:
        return sum(1 + expansions(reference["refname"]) for reference in element.findall(nodes.substitution_reference))

    def expansions(name: str) -> int:
        name = document.substitution_names.get(name.lower(), name)
        definition = document.substitution_defs.get(name)
        if name not in sizes and definition is not None:
            sizes[name] = 0  # docutils leaves out circles
            sizes[name] = size(definition)
        return sizes.get(name, 0)

    in_definitions = sum(map(size, document.substitution_defs.values()))  # which the document holds, too
    return size(document) - in_definitions


class BoundedParser(Parser):
    """docutils' parser, with limits on everything that takes more than linear time.

    A text beyond them is a ``HostileDocumentError``.
    """

    def __init__(self) -> None:
        super().__init__(inliner=_bounded_inliner())

    def get_transforms(self) -> list[Any]:
        """Return the transforms of docutils and our limits."""
        return [*super().get_transforms(), _Bounds]


class _Options(dict[str, Any]):
    """Options that accept any value: a picture with a width that docutils cannot read is still a picture."""

    def __missing__(self, name: str) -> Callable[[Any], Any]:
        return directives.unchanged


class _Lenient(Directive):
    """A directive that accepts any options, and a text as its argument."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = _Options(name=directives.unchanged)

    def frame(self, first: Sequence[nodes.Node] = ()) -> list[nodes.Node]:
        frame = nodes.container("", *first)
        self.add_name(frame)
        self.state.nested_parse(self.content, self.content_offset, frame)
        return [frame]

    def figure(self, address: str) -> nodes.figure:
        figure = nodes.figure("", nodes.image("", uri=address, alt=self.options.get("alt")))
        self.add_name(figure)
        return figure


class _Nothing(_Lenient):
    def run(self) -> list[nodes.Node]:
        return []


class _Frame(_Lenient):
    """Any directive that is not known: its content is read, and an argument of ``TEXT_IN_ARGUMENT`` before it."""

    def run(self) -> list[nodes.Node]:
        if not self.arguments or self.name.lower() not in TEXT_IN_ARGUMENT:
            return self.frame()
        text, messages = self.state.inline_text(self.arguments[0], self.lineno)
        return self.frame([nodes.paragraph(self.arguments[0], "", *text, *messages)])


class _Picture(_Lenient):
    required_arguments = 1
    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        image = nodes.image("", uri="".join(self.arguments[0].split()), alt=self.options.get("alt"))
        self.add_name(image)
        return [image]


class _Figure(_Lenient):
    """A figure whose first paragraph is the caption; all further content comes after it, as on a page."""

    def run(self) -> list[nodes.Node]:
        address = "".join(self.arguments[0].split()) if self.arguments else ""
        if not address:
            return self.frame()
        figure = self.figure(address)
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        if body.children and isinstance(body[0], nodes.paragraph):
            figure += nodes.caption("", "", *body.pop(0).children)
        elif body.children and isinstance(body[0], nodes.comment):  # ".." says that there is no caption
            body.pop(0)
        return [figure, *([body] if body.children else [])]


class _Drawn(_Lenient):
    """A picture that code makes: its code is no text, and the option ``caption`` is its caption."""

    def run(self) -> list[nodes.Node]:
        name = self.options.get("name") or self.name
        figure = self.figure(f"{MADE_BY_CODE}:{'-'.join(name.split())}")
        caption = self.options.get("caption")
        if caption:
            text, messages = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *text, *messages)
        return [figure]


class _Only(_Lenient):
    """The directive ``only``: content for HTML pages stays, content for print is left out."""

    def run(self) -> list[nodes.Node]:
        return self.frame() if on_a_page(" ".join(self.arguments)) else []


class _Include(_Lenient):
    def run(self) -> list[nodes.Node]:
        includes: Includes = self.state.document.settings.iconotext_includes
        if not self.arguments or "code" in self.options or "literal" in self.options:
            return []
        name = self.arguments[0].strip()
        lines: Any = self.state_machine.input_lines
        source = lines.source(self.lineno - self.state_machine.input_offset - 1)
        file_text = includes.text(name.strip("<>"), Path(source or self.state.document.settings._source))
        if file_text is None:
            return []
        path, text = file_text
        part = part_of(text, self.options).expandtabs(8)
        check_lines(part)
        register_names(part)
        self.state_machine.insert_input(part.splitlines(), str(path))
        return []


DIRECTIVES: dict[str, type[Directive]] = {
    "figure": _Figure,
    "image": _Picture,
    "only": _Only,
    "include": _Include,
    **dict.fromkeys(NO_TEXT, _Nothing),
    **dict.fromkeys(DRAWN, _Drawn),
}


def on_a_page(expression: str) -> bool:
    """Return whether ``.. only:: EXPRESSION`` is true for an HTML page; an unreadable expression counts as true."""
    try:
        return _holds(ast.parse(expression.strip()[:1_000], mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return True


def _holds(tree: ast.expr) -> bool:
    if isinstance(tree, ast.Name):
        return tree.id in ("html", "builder_html", "format_html")
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return not _holds(tree.operand)
    if isinstance(tree, ast.BoolOp):
        return (any if isinstance(tree.op, ast.Or) else all)(map(_holds, tree.values))
    raise ValueError


def part_of(text: str, options: dict[str, Any]) -> str:
    """Return the part of an included text that the options of the directive choose."""
    lines = text.splitlines()
    try:
        start = int(options.get("start-line") or 0)
        end = int(options["end-line"]) if options.get("end-line") else None
    except ValueError:
        start, end = 0, None
    text = "\n".join(lines[start:end])
    if options.get("start-after"):
        text = text.partition(options["start-after"])[2]
    if options.get("end-before"):
        text = text.partition(options["end-before"])[0]
    return text


def check_lines(text: str) -> None:
    """Refuse a text with an endless line, too deep indentation, or too many substitutions."""
    lines = text.splitlines()
    if max(map(len, lines), default=0) > MAX_LINE:
        raise HostileDocumentError(f"a line of it has more than {MAX_LINE:,} characters: break it")
    levels: list[int] = []
    for number, line in enumerate(lines, 1):
        if not (words := line.lstrip(" ")):
            continue
        indent = len(line) - len(words)
        while levels and levels[-1] >= indent:
            levels.pop()
        levels.append(indent)
        if len(levels) > MAX_DEPTH:
            raise HostileDocumentError(f"line {number}: it is nested too deeply: more than {MAX_DEPTH} indentations")
    if sum(1 for _ in SUBSTITUTION.finditer(text)) > MAX_SUBSTITUTIONS:
        raise HostileDocumentError(f"it has more than {MAX_SUBSTITUTIONS:,} substitutions: split it")


def register_names(text: str) -> None:
    """Register the roles and directives that a text uses and docutils does not know."""
    for name, directive in DIRECTIVES.items():
        directives.register_directive(name, directive)
    for name in {match.lower() for match in DIRECTIVE.findall(text)} - DIRECTIVES.keys() - en.directives.keys():
        directives.register_directive(name, _Frame)
    for name in {match.lower() for match in ROLE.findall(text)} - en.roles.keys():
        roles.register_local_role(name, _role)


def _role(name: str, rawtext: str, text: str, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return the text of a role; a role that names a label becomes a reference, still without text."""
    name, text = name.lower().removeprefix("std:"), nodes.unescape(text)
    titled = TITLED.fullmatch(text)
    title, label = (titled[1], titled[2]) if titled else ("", text)
    if name in REFERENCES:
        link_text = numref_text(title) if name == "numref" else title
        return [nodes.reference(rawtext, title or label, label=label, shown=link_text)], []
    if name.rpartition(":")[2] in ("doc", "download", "term", "guilabel", "menuselection", "abbr", "eq"):
        return [nodes.inline(rawtext, title or label)], []
    link_text = title or (label.rpartition(".")[2] if label.startswith("~") else label.lstrip("!~"))
    return [nodes.literal(rawtext, link_text)], []


def resolve_labels(document: nodes.document) -> None:
    """Point references by label at the labelled elements; ``cross_references`` gives them the text of Sphinx."""
    for reference in document.findall(nodes.reference):
        label = reference.get("label")
        if label is not None:
            identifier = document.nameids.get(nodes.fully_normalize_name(label))
            reference["refid"] = identifier or nodes.make_id(label)


TAGS = {
    "paragraph": "p", "line": "p", "attribution": "p", "rubric": "p", "field_name": "dt", "field_body": "dd",
    "subtitle": "p", "list_item": "li", "term": "dt", "definition": "dd", "block_quote": "blockquote", "entry": "td",
    "row": "tr", "figure": "figure", "caption": "figcaption", "legend": "div", "emphasis": "em", "strong": "strong",
    "literal": "code", "literal_block": "pre", "doctest_block": "pre", "reference": "a", "image": "img",
    "table": "table", "math": "span",
}  # fmt: skip
"""The HTML element of each element of docutils; any other is a ``span`` within a text, else a ``div``."""

SKIPPED = frozenset(
    "comment system_message math_block substitution_definition docinfo label footnote_reference pending meta "
    "decoration generated colspec".split()
)


def read_rst(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a reStructuredText file, with the additions of Sphinx, as one flow."""
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
    """Append a node and its content to an HTML element; ``depth`` counts the sections around it."""
    if isinstance(node, nodes.Text):
        _append_text(parent, node.astext())
        return
    if not isinstance(node, nodes.Element) or node.tagname in SKIPPED:
        return
    if node.tagname == "raw":
        _append_raw(node, parent)
        return
    # A picture between paragraphs becomes a paragraph of its own.
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
        element.text = readable(node.astext()) or f"${node.astext()}$"
        return
    for child in node.children:
        _append(child, element, depth + (node.tagname == "section"))


def _tag(node: nodes.Element, depth: int) -> str:
    if node.tagname == "title":
        if isinstance(node.parent, nodes.section):
            return f"h{min(max(depth, 1), 6)}"
        return "caption" if isinstance(node.parent, nodes.table) else "p"
    return TAGS.get(node.tagname) or ("span" if isinstance(node.parent, nodes.TextElement) else "div")


def _identify(node: nodes.Element, element: Any, parent: Any) -> None:
    """Give an element its names; those of a picture beyond the first are empty marks right before it."""
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


def _append_text(parent: Any, text: str) -> None:
    text = REMOVED_CHARACTERS.sub("", text)
    last = next(parent.iterchildren(reversed=True), None)  # len(parent) would count all of them each time
    if last is not None:
        last.tail = (last.tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _append_raw(node: nodes.Element, parent: Any) -> None:
    """Read raw HTML as HTML; raw text of other formats is not shown on a page."""
    if "html" not in node.get("format", "").split():
        return
    try:
        body = parse_html(node.astext()).find("body")
    except HostileDocumentError:
        raise
    except DocumentError:
        return  # no element in it
    if body is not None:
        body.tag = "div"
        parent.append(body)
