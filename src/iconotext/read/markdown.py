"""Markdown → blocks: CommonMark with tables, front matter and the picture tags of Jekyll and Hugo."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.read.blocks import Flow
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Lengths are bounded so that a hostile document cannot make the search for an end that never comes quadratic.
FRONT_MATTER = re.compile(r"\A﻿?(---|\+\+\+)[ \t]*\r?\n(.*?)\r?\n\1[ \t]*(?:\r?\n|\Z)", re.DOTALL)
PICTURE_NAME = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|tiff?|bmp|svg)(?:[?#]\S*)?$", re.IGNORECASE)
LIQUID_VALUE = re.compile(r"\{\{-?\s*(?![<%])(.{0,500}?)\s*-?\}\}")
SHORTCODE = re.compile(r"\{\{([<%])\s*(/?)\s*([\w/.-]{1,99})(.{0,2000}?)/?\s*[>%]\}\}", re.DOTALL)
LIQUID_TAG = re.compile(r"\{%-?\s*(\w+)(.{0,2000}?)-?%\}", re.DOTALL)
CODE_TAGS = re.compile(r"\{%-?\s*(highlight|comment)\b[^%]{0,200}%\}.{0,20000}?\{%-?\s*end\1\s*-?%\}", re.DOTALL)
ARGUMENT = re.compile(r"""(?:([\w-]+)\s*=\s*)?(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`([^`]*)`|([^\s"'=]+))""")
QUOTED = re.compile(r"""^["'](.*?)["']""")
ICON = re.compile(r":(?:material|fontawesome|octicons|simple)-[\w-]+:")
WIKI_PICTURE = re.compile(
    r"!\[\[([^\]|#\n]{1,300}\.(?:jpe?g|png|gif|webp|avif|tiff?|bmp|svg))(?:\|([^\]]*))?\]\]", re.IGNORECASE
)
SPACED_PICTURE = re.compile(
    r"(!\[[^\]\n]{0,1000}\]\()[ \t]*"
    r"([^()<>\"\s][^()<>\"\n]{0,200}?[ \t][^()<>\"\n]{0,200}?\.(?:jpe?g|png|gif|webp|avif|tiff?|bmp|svg))"
    r"(?=[ \t]*(?:\"[^\"\n]*\"[ \t]*)?\))",
    re.IGNORECASE,
)
ATTRIBUTE_LIST = re.compile(r"(?<=[)\]`*_])\{:?\s*[.#][^{}\n]*\}|^\{:[^{}\n]*\}\s*$", re.MULTILINE)
PICTURE_ANCHOR = re.compile(r"(!\[[^\]]*\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\))\{:?[^{}\n]*#([\w:.-]+)[^{}\n]*\}")


def read_markdown(path: Path, settings: ReadSettings) -> list[Flow]:
    """A Markdown file, as one flow."""
    del settings  # nothing of it concerns Markdown
    text, front = split_front_matter(decode_text(path))
    tree = parse_html(f"<article>{_parser().render(expand_templates(text))}</article>")
    title = front.get("title")
    language = next((front[key] for key in ("lang", "language", "locale") if isinstance(front.get(key), str)), "")
    name = str(title) if isinstance(title, str | int | float) else None
    return [Flow(html_blocks(tree), name, language_code(language))]


def split_front_matter(text: str) -> tuple[str, dict[str, Any]]:
    """Text without its YAML (``---``) or TOML (``+++``) head, and what the head says; {} where it says nothing."""
    match = FRONT_MATTER.match(text)
    if not match:
        return text, {}
    rest = text[match.end() :]
    try:
        if match[1] == "+++":
            import tomllib

            return rest, tomllib.loads(match[2])
        import yaml

        head = yaml.safe_load(match[2])
    except (ValueError, RecursionError, yaml_error()):
        return rest, {}  # a head that cannot be parsed is still no text of the document
    return (rest, head) if isinstance(head, dict) else (rest if head is None else text, {})


def yaml_error() -> type[Exception]:
    """The error of the YAML library, which is imported only where there is a head to read."""
    import yaml

    return yaml.YAMLError


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    # Addresses stay as the author wrote them, and a picture whose address we refuse is listed, not made into text. The
    # HTML is read by us and by nobody else.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser.use(footnote_plugin).use(deflist_plugin).use(admon_plugin)


def expand_templates(text: str) -> str:
    """Replace the tags of site generators: picture tags by HTML figures, addresses by plain ones, the rest by nothing.

    Jekyll: ``{{ site.baseurl }}``, ``{{ "/a.png" | relative_url }}``, ``{% include image.html url="a.png" %}``,
    ``{% link a.png %}``. Hugo: ``{{< figure src="a.png" caption="..." >}}`` and every other shortcode that names a
    picture file. Hexo and Octopress: ``{% asset_img a.png Title %}``, ``{% img /a.png %}``. Obsidian: ``![[a.png]]``.
    MkDocs: icons such as ``:material-pencil:`` are no text. A space in an address, which many editors write and
    CommonMark forbids, is taken as meant.
    """
    if "{" in text:
        text = CODE_TAGS.sub("", text)
        text = PICTURE_ANCHOR.sub(lambda m: f'<span id="{escape(m[2])}">{m[1]}</span>', text)
        text = LIQUID_VALUE.sub(_value, text)
        text = SHORTCODE.sub(lambda m: "" if m[2] else _figure(m[4], name=m[3]), text)
        text = LIQUID_TAG.sub(_tag, text)
        text = ATTRIBUTE_LIST.sub("", text)
    text = ICON.sub("", text)
    text = SPACED_PICTURE.sub(r"\1<\2>", text)
    if "![[" in text:
        text = WIKI_PICTURE.sub(lambda m: f'<img src="{escape(m[1].strip())}" alt="{escape(_wiki_alt(m[2]))}">', text)
    return text


def _wiki_alt(label: str | None) -> str:
    return "" if label is None or re.fullmatch(r"\s*\d+(x\d+)?\s*", label) else label.strip()


def _value(match: re.Match[str]) -> str:
    """``{{ "/a.png" | relative_url }}`` names an address; ``{{ site.baseurl }}`` and the like stand for the site."""
    quoted = QUOTED.match(match[1])
    return quoted[1] if quoted else ""


def _tag(match: re.Match[str]) -> str:
    name, rest = match[1], match[2]
    if name == "link":
        return "/" + rest.strip().lstrip("/")
    return _figure(rest, name=name)


def _figure(arguments: str, *, name: str) -> str:
    """HTML of a template tag that names a picture; "" for any other tag."""
    named: dict[str, str] = {}
    plain: list[str] = []
    for key, *values in ARGUMENT.findall(arguments):
        value = next((v for v in values if v), "").replace('\\"', '"')
        if key:
            named.setdefault(key.lower(), value)
        else:
            plain.append(value)
    source = next((v for v in [*named.values(), *plain] if PICTURE_NAME.search(v)), None)
    if source is None:
        return ""
    titles = [v for v in plain if v != source and not re.fullmatch(r"[\d%px]+|[\w-]+\.html?", v)]
    if name in ("figure", "include"):
        titles = [v for v in titles if v != name and " " in v]
    caption = named.get("caption") or named.get("description") or named.get("title") or ""
    alt = named.get("alt") or (" ".join(titles) if name != "img" else "")
    identifier = named.get("id") or named.get("name") or ""
    figure = f'<figure id="{escape(identifier)}">' if identifier else "<figure>"
    caption = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'\n\n{figure}<img src="{escape(source)}" alt="{escape(alt)}">{caption}</figure>\n\n'
