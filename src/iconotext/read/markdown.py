"""Markdown → blocks: CommonMark with tables, front matter and the image tags of Jekyll and Hugo."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import HostileDocumentError
from iconotext.read.blocks import Block, Flow
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.marks import mark_pictures
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.site_tags import expand_site_tags
from iconotext.read.text_file import decode_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*+\r?\n(.*?)\r?\n\1[ \t]*+(?:\r?\n|\Z)", re.DOTALL)
LONG_NAME = re.compile(r"\b(?:\w++\.){32}")
MAX_FRONT_MATTER = 64 * 2**10
"""Characters of a front matter; real documents have some hundreds."""


def read_markdown(path: Path, settings: ReadSettings) -> list[Flow]:
    """A Markdown file, as one flow."""
    del settings  # nothing of it concerns Markdown
    whole = decode_text(path)
    text, front = split_front_matter(whole)
    language = next((front[key] for key in ("lang", "language", "locale") if key in front), "")
    return [Flow(markdown_blocks(text, offset=len(whole) - len(text)), front.get("title"), language_code(language))]


def markdown_blocks(text: str, offset: int = 0) -> list[Block]:
    """Blocks of a text in Markdown, without front matter.

    Args:
        offset: Where in its file the text begins, in characters.
    """
    edited = expand_site_tags(text)
    env = {"text": edited.text, "original": lambda place: offset + edited.original(place)}
    return html_blocks(parse_html(f"<article>{_parser().render(edited.text, env)}</article>"))


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
    import tomllib

    if LONG_NAME.search(head):
        raise ValueError("a name of so many parts takes quadratic time")
    return {key: str(value) for key, value in tomllib.loads(head).items() if isinstance(value, str | int | float)}


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
    parser.use(footnote_plugin).use(deflist_plugin).use(admon_plugin)
    mark_pictures(parser)
    return parser
