"""Markdown → blocks: CommonMark with tables, front matter, the image tags of Jekyll and Hugo, and ``directives``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.blocks import Flow
from iconotext.read.cross_references import fill_references
from iconotext.read.directives import COLON_ROLE, REFERENCE, directives_plugin
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.marks import MARK, mark_pictures
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.site_tags import expand_site_tags
from iconotext.read.text_file import decode_text
from iconotext.strict_json import parse_toml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*+\r?\n(.*?)\r?\n\1[ \t]*+(?:\r?\n|\Z)", re.DOTALL)
ANY_REFERENCE = re.compile(REFERENCE)
TEXT_REFERENCE = re.compile(r"^(\(ref:[\w-]{1,100}\))[ \t]++(\S.*)$", re.MULTILINE)
"""bookdown: ``(ref:a) A caption`` stands for the caption wherever ``(ref:a)`` is one."""
MAX_FRONT_MATTER = 64 * 2**10
"""Characters of a front matter; real documents have some hundreds."""


def read_markdown(path: Path, settings: ReadSettings) -> list[Flow]:
    """A Markdown file, as one flow."""
    del settings  # nothing of it concerns Markdown
    whole = decode_text(path)
    text, front = split_front_matter(whole)
    tree = markdown_tree(text, path.stem, offset=len(whole) - len(text))
    fill_references(tree)
    language = next((front[key] for key in ("lang", "language", "locale") if key in front), "")
    return [Flow(html_blocks(tree), front.get("title"), language_code(language))]


def markdown_tree(text: str, stem: str, offset: int | None = None) -> Any:
    """Markdown without its front matter as an HTML tree, in which references by label have no text yet.

    Args:
        stem: Of the document's name.
        offset: Where in its file the text begins, in characters; None where the text is not as in a file.
    """
    edited = expand_site_tags(text)
    env: dict[str, Any] = {"stem": stem, "knitr": "```{r" in text}
    if "(ref:" in text:
        env["captions"] = dict(TEXT_REFERENCE.findall(text))
        edited.sub(TEXT_REFERENCE, "")
    if offset is not None:
        env |= {"text": edited.text, "original": lambda place: offset + edited.original(place)}
    tree = parse_html(f"<article>{_parser().render(edited.text, env)}</article>")
    finish_figures(tree)
    return tree


def markdown_references(text: str, stem: str) -> dict[str, str]:
    """What each reference by label is in a Markdown text, and what is shown in its place; see ``cross_references``."""
    if not ANY_REFERENCE.search(text):
        return {}
    hidden = {found[0]: "" for found in COLON_ROLE.finditer(text)}
    try:
        return hidden | fill_references(markdown_tree(split_front_matter(text)[0], stem))
    except DocumentError:
        return {}


def finish_figures(tree: Any) -> None:
    """Give figures their captions that stand where Quarto wants them, in brackets or last in a div."""
    for span in tree.xpath(".//span[@data-figure]"):
        (image,) = span.iter("img") if sum(1 for _ in span.iter("img")) == 1 else (None,)
        if image is None:
            continue
        span.tag = "figure"
        caption = etree.SubElement(span, "figcaption")
        caption.text, image.attrib["alt"] = image.get("alt"), span.get("data-figure")
        image.attrib.pop(MARK, None)  # what stands at its place is the caption: no alternative text belongs there
    for label in tree.xpath(".//span[@data-label][@id]"):
        _name_what_stands_before(label)
    for figure in tree.xpath(".//figure[@data-caption]"):
        below = [child for child in figure.iter("p") if child.find(".//img") is None]
        if below and not any(True for _ in below[-1].itersiblings()):
            below[-1].tag = "figcaption"
            figure.append(below[-1])


def _name_what_stands_before(label: Any) -> None:
    """Give a label of d2lbook to the picture, table or heading before it; a picture so named is a figure."""
    parent, before = label.getparent(), label.getprevious()
    if before is not None and before.tag == "img" and not (before.tail or "").strip():
        figure = before.makeelement("figure", id=label.get("id"))
        figure.tail, before.tail = before.tail, None
        before.addprevious(figure)
        figure.append(before)
        caption = etree.SubElement(figure, "figcaption")
        caption.text = before.attrib.pop("alt", "")
        before.attrib.pop(MARK, None)
    elif before is not None or (parent.text or "").strip():
        return
    else:
        row = parent.getparent()
        alone = parent.tag == "td" and not row.text_content().strip()
        named = next(row.iterancestors("table"), None) if alone else parent.getprevious()
        if named is None or named.get("id") or named.tag not in ("table", "h1", "h2", "h3", "h4", "h5", "h6"):
            return
        named.set("id", label.get("id"))
        if alone:
            row.getparent().remove(row)
    if label.getparent() is not None:
        label.drop_tree()


def split_front_matter(text: str) -> tuple[str, dict[str, str]]:
    """Text without its YAML (``---``) or TOML (``+++``) head, and the single values that the head gives by name.

    Raises:
        HostileDocumentError: The head is longer than any real one.
    """
    match = FRONT_MATTER.match(text)
    if not match:
        return text, {}
    rest, head = text[match.end() :], match[2]
    if len(head) > MAX_FRONT_MATTER:
        raise HostileDocumentError(
            f"its front matter has {len(head):,} characters, more than the limit of {MAX_FRONT_MATTER:,}: shorten it"
        )
    try:
        values = _toml_values(head) if match[1] == "+++" else _yaml_values(head)
    except Exception:  # whatever the parsers make of it: a head that cannot be parsed is still no text of the document
        return rest, {}
    return (text, {}) if values is None else (rest, values)


def _toml_values(head: str) -> dict[str, str]:
    return {key: str(value) for key, value in parse_toml(head).items() if isinstance(value, str | int | float)}


def _yaml_values(head: str) -> dict[str, str] | None:
    """Single values as they are written; None where the head is no YAML mapping, but text between two rules.

    Nothing is constructed: there are no objects to make, and merged aliases cannot unfold to gigabytes.
    """
    import yaml

    root = yaml.compose(head, Loader=yaml.SafeLoader)
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        return None
    scalars = [(k, v) for k, v in root.value if isinstance(k, yaml.ScalarNode) and isinstance(v, yaml.ScalarNode)]
    return {key.value: value.value for key, value in scalars if not value.tag.endswith(":null")}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    # Addresses stay as the author wrote them, and an image whose address we refuse is listed, not made into text. The
    # HTML is read by us and by nobody else.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]  # addresses stay as written
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # we judge them ourselves
    parser.use(footnote_plugin).use(deflist_plugin).use(admon_plugin).use(directives_plugin)
    mark_pictures(parser)
    return parser
