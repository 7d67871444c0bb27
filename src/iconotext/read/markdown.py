"""Markdown → blocks: CommonMark with tables, front matter, the image tags of Jekyll and Hugo, and ``directives``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.address import IMAGE_NAME, NAME_END
from iconotext.read.blocks import Flow
from iconotext.read.cross_references import fill_references
from iconotext.read.directives import COLON_ROLE, REFERENCE, directives_plugin
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.jsx import holds_jsx, jsx_to_html, read_as_mdx
from iconotext.read.positions import MARK, EditedText, mark_pictures
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text
from iconotext.system.strict_json import parse_toml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LIQUID_VALUE = re.compile(r"\{\{(?!-?\s*+[<%])((?:(?!\{\{|\}\}).){0,500})\}\}", re.DOTALL)
SHORTCODE = re.compile(r"\{\{[<%]\s*+(/?)\s*+([\w/.-]{1,99})((?:(?!\{\{|\}\}).){0,2000})(?<=[>%])\}\}", re.DOTALL)
LIQUID_TAG = re.compile(r"\{%-?\s*+(\w{1,99})((?:(?!\{%|%\}).){0,2000})%\}", re.DOTALL)
CODE_TAG = re.compile(r"\{%-?\s*+(end)?(highlight|comment)\b[^%]{0,200}+%\}")
ARGUMENT = re.compile(
    r"""(?:([\w-]++)\s*+=\s*+)?"""
    r"""(?:(?<!\w)"((?:[^"\\]|\\.?)*+)(?:"|$)|(?<!\w)'((?:[^'\\]|\\.?)*+)(?:'|$)|`([^`]*+)(?:`|$)|([^\s"'=]++))""",
    re.DOTALL,
)
QUOTED = re.compile(r"""["'](.*?)["']""")
ALERT = re.compile(r"^((?:[ \t]*>)+[ \t]*)\[!\w{1,20}\][+-]?", re.MULTILINE)  # of GitHub and Obsidian
ICON = re.compile(r":(?:material|fontawesome|octicons|simple)-[\w-]+:")
WIKI_IMAGE = re.compile(rf"!\[\[([^\[\]|#\n]{{1,300}}{NAME_END})(?:\|([^\[\]]*+))?\]\]", re.IGNORECASE)
# An image up to its address: ``![alt](``.
IMAGE_START = r"!\[[^\]\n!]{0,1000}+(?:!(?!\[)[^\]\n!]{0,1000}+){0,1000}\]\("
SPACED_IMAGE = re.compile(
    rf"({IMAGE_START})[ \t]*+([^()<>\"\s][^()<>\"\n]{{0,400}}?{NAME_END})(?=[ \t]*+(?:\"[^\"\n]*+\"[ \t]*+)?\))",
    re.IGNORECASE,
)
IMAGE_ANCHOR = re.compile(rf"({IMAGE_START}[^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*+\))\{{:?([^{{}}\n]*+)\}}")
ANCHOR = re.compile(r"#([\w:.-]+)")
HEADING_ATTRIBUTES = re.compile(
    r"^(#{1,6}[ \t][^\n{]*+(?:\{(?![:#.-])[^\n{]*+)*)\{(?::?[ \t]*+[#.][^{}\n]*+|-)\}[ \t]*+$", re.MULTILINE
)
ALT = re.compile(r"""(?<![\w-])(?:fig-)?alt=(?:"([^"]*+)"|'([^']*+)')""")
ATTRIBUTE_LIST = re.compile(
    r"(?<=[)\]`*_])\{(?::|\s*+[.#])[^{}\n]*+\}"
    r"|(?<=[)\]`])\{\s*+(?:[\w-]{3,30}=(?:\"[^\"{}\n]*+\"|'[^'{}\n]*+'|[\w%-]++)\s*+)++\}"
    r"|^\{:[^{}\n]*+\}\s*$|^\+\+\+[ \t]++\{[^\n]*+$",  # the last separates cells of MyST
    re.MULTILINE,
)


def expand_site_tags(edited: EditedText) -> EditedText:
    """Replace the tags of site generators: image tags by HTML figures, addresses by plain ones, the rest by nothing.

    Jekyll: ``{{ site.baseurl }}``, ``{{ "/a.png" | relative_url }}``, ``{% include image.html url="a.png" %}``,
    ``{% link a.png %}``. Hugo: ``{{< figure src="a.png" caption="..." >}}`` and every other shortcode that names an
    image file. Hexo and Octopress: ``{% asset_img a.png Title %}``, ``{% img /a.png %}``. Obsidian: ``![[a.png]]``.
    MkDocs: icons such as ``:material-pencil:`` are no text. A space in an address, which many editors write and
    CommonMark forbids, counts as part of it.
    """
    text = edited.text
    if "{" in text:
        # Code goes first, so that the tags that it shows are not read; images with attributes before ``{{ }}`` in them.
        edited.replace([(start, end, "") for start, end in _code(text)])
        edited.sub(IMAGE_ANCHOR, _anchored)
        edited.sub(LIQUID_VALUE, _value)
        edited.sub(SHORTCODE, lambda m: "" if m[1] else _figure(m[3].rstrip("/>% \n"), name=m[2]))
        edited.sub(LIQUID_TAG, _tag)
        edited.sub(ATTRIBUTE_LIST, "")
        edited.sub(HEADING_ATTRIBUTES, lambda m: m[1])
    edited.sub(ICON, "")
    edited.sub(ALERT, lambda m: m[1])
    edited.sub(SPACED_IMAGE, lambda m: f"{m[1]}<{m[2]}>" if re.search(r"[ \t]", m[2]) else m[0])
    if "![[" in text:
        edited.sub(WIKI_IMAGE, lambda m: f'<img src="{escape(m[1].strip())}" alt="{escape(_wiki_alt(m[2]))}">')
    return edited


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the text from ``{% highlight %}`` or ``{% comment %}`` to its end, the tags included."""
    opened: dict[str, int] = {}  # where the first tag of each kind that is still open begins
    for tag in CODE_TAG.finditer(text):
        if not tag[1]:
            opened.setdefault(tag[2], tag.start())
        elif tag[2] in opened:
            yield opened[tag[2]], tag.end()
            opened.clear()


def _anchored(match: re.Match[str]) -> str:
    """Read ``![](a.png){#fig-a alt="..."}``: the identifier becomes that of a span around the picture.

    To Quarto, pandoc and pandoc-crossref it is a figure, whose caption stands between the brackets.
    """
    attribute = ALT.search(match[2])
    names = ANCHOR.findall(ALT.sub("", match[2]))
    in_kramdown = match[0].endswith("{:" + match[2] + "}")  # which has no figures
    is_figure = not in_kramdown and (attribute or (names and re.match(r"fig[:-]", names[-1], re.IGNORECASE)))
    if not names and not is_figure:
        return match[0]
    alt = (attribute[1] or attribute[2] or "") if attribute else ""
    identifier = f' id="{escape(names[-1])}"' if names else ""
    figure = f' data-figure="{escape(alt)}"' if is_figure else ""
    return f"<span{identifier}{figure}>{match[1]}</span>"


def _wiki_alt(label: str | None) -> str:
    label = (label or "").strip()
    return "" if re.fullmatch(r"\d*(?:x\d+)?", label) else label


def _value(match: re.Match[str]) -> str:
    """Return the address in ``{{ "/a.png" | relative_url }}``; "" for others, such as ``{{ site.baseurl }}``."""
    quoted = QUOTED.match(match[1].removeprefix("-").lstrip())
    return quoted[1] if quoted else ""


def _tag(match: re.Match[str]) -> str:
    """Return the address in ``{% link a.png %}``, or the figure for a tag that names an image."""
    name, rest = match[1], match[2].removesuffix("-")
    if name == "link":
        return "/" + rest.strip().lstrip("/")
    return _figure(rest, name=name)


def _figure(arguments: str, *, name: str) -> str:
    """Return the HTML of a template tag that names an image; "" for any other tag."""
    named: dict[str, str] = {}
    plain: list[str] = []
    for key, *values in ARGUMENT.findall(arguments):
        value = next((v for v in values if v), "").replace('\\"', '"')
        if key:
            named.setdefault(key.lower(), value)
        else:
            plain.append(value)
    source = next((v for v in [*named.values(), *plain] if IMAGE_NAME.search(v)), None)
    if source is None:
        return ""
    titles = [v for v in plain if v != source and not re.fullmatch(r"[\d%px]++|[\w-]++\.html?", v)]
    if name in ("figure", "include"):
        titles = [v for v in titles if v != name and " " in v]
    caption = named.get("caption") or named.get("description") or named.get("title") or ""
    alt = named.get("alt", " ".join(titles) if titles and name != "img" else None)
    identifier = named.get("id") or named.get("name") or ""
    figure = f'<figure id="{escape(identifier)}">' if identifier else "<figure>"
    caption = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    described = "" if alt is None else f' alt="{escape(alt)}"'
    return f'\n\n{figure}<img src="{escape(source)}"{described}>{caption}</figure>\n\n'


FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*+\r?\n(.*?)\r?\n\1[ \t]*+(?:\r?\n|\Z)", re.DOTALL)
ANY_REFERENCE = re.compile(REFERENCE)
TEXT_REFERENCE = re.compile(r"^(\(ref:[\w-]{1,100}\))[ \t]++(\S.*)$", re.MULTILINE)
"""bookdown: ``(ref:a) A caption`` stands for the caption wherever ``(ref:a)`` is used as one."""
MAX_FRONT_MATTER = 64 * 2**10  # maximum number of characters of a front matter; real documents have some hundreds


def read_markdown(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a Markdown file, as one flow; as MDX if it holds JSX, as pages of Docusaurus do."""
    del settings  # nothing of it concerns Markdown
    whole = decode_text(path)
    text, front = split_front_matter(whole)
    is_mdx = path.suffix.lower() == ".mdx" or holds_jsx(text)
    tree = markdown_tree(text, path.stem, offset=len(whole) - len(text), is_mdx=is_mdx)
    fill_references(tree)
    language = next((front[key] for key in ("lang", "language", "locale") if key in front), "")
    return [Flow(html_blocks(tree), front.get("title"), language_code(language))]


def markdown_tree(text: str, stem: str, offset: int | None = None, *, is_mdx: bool = False) -> Any:
    """Return Markdown without its front matter as an HTML tree, in which references by label have no text yet.

    Args:
        stem: Of the document's name.
        offset: Where in its file the text begins, in characters; None where the text is not as in a file.
        is_mdx: Whether it is MDX, with JSX in place of HTML and without indented code.
    """
    edited = expand_site_tags(jsx_to_html(text) if is_mdx else EditedText(text))
    env: dict[str, Any] = {"stem": stem, "knitr": "```{r" in text}
    if "(ref:" in text:
        env["captions"] = dict(TEXT_REFERENCE.findall(text))
        edited.sub(TEXT_REFERENCE, "")
    if offset is not None:
        env |= {"text": edited.text, "original": lambda place: offset + edited.original(place)}
    tree = parse_html(f"<article>{_parser(is_mdx).render(edited.text, env)}</article>")
    finish_figures(tree)
    return tree


def markdown_references(text: str, stem: str) -> dict[str, list[str]]:
    """Return the references by label in a Markdown text with the texts shown for them; see ``fill_references``."""
    if not ANY_REFERENCE.search(text):
        return {}
    hidden = {role[0]: [""] for role in COLON_ROLE.finditer(text)}
    try:
        return hidden | fill_references(markdown_tree(split_front_matter(text)[0], stem))
    except DocumentError:
        return {}


def finish_figures(tree: Any) -> None:
    """Find the captions of figures where Quarto expects them: in brackets, or last in a div."""
    for span in tree.xpath(".//span[@data-figure]"):
        (image,) = span.iter("img") if sum(1 for _ in span.iter("img")) == 1 else (None,)
        if image is None:
            continue
        span.tag = "figure"
        caption = etree.SubElement(span, "figcaption")
        caption.text, image.attrib["alt"] = image.get("alt"), span.get("data-figure")
        image.attrib.pop(MARK, None)  # the text at this place is the caption: no alternative text may be written there
    for label in tree.xpath(".//span[@data-label][@id]"):
        _apply_label(label)
    for figure in tree.xpath(".//figure[@data-caption]"):
        below = [child for child in figure.iter("p") if child.find(".//img") is None]
        if below and not any(True for _ in below[-1].itersiblings()):
            below[-1].tag = "figcaption"
            figure.append(below[-1])


def _apply_label(label: Any) -> None:
    """Give a label of d2lbook to the picture, table or heading before it; a picture with a label is a figure."""
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
        target = next(row.iterancestors("table"), None) if alone else parent.getprevious()
        if target is None or target.get("id") or target.tag not in ("table", "h1", "h2", "h3", "h4", "h5", "h6"):
            return
        target.set("id", label.get("id"))
        if alone:
            row.getparent().remove(row)
    if label.getparent() is not None:
        label.drop_tree()


def split_front_matter(text: str) -> tuple[str, dict[str, str]]:
    """Return the text without its YAML (``---``) or TOML (``+++``) head, and the head's single values by name."""
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
    """Return single values as they are written; None if the head is text between two rules and no YAML mapping.

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
def _parser(is_mdx: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    # Addresses stay as the author wrote them. Nobody but us reads the HTML, so none is dangerous; and an image whose
    # address we refuse is then listed, not made into text.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.use(footnote_plugin).use(deflist_plugin).use(admon_plugin).use(directives_plugin)
    if is_mdx:
        read_as_mdx(parser)
    mark_pictures(parser)
    return parser
