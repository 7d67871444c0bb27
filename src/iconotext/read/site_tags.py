"""Tags of site generators in Markdown: those of images become HTML figures, the rest goes.

Every expression here takes linear time: the search for a closing tag stops at the next opening one, and repeats do not
backtrack (``*+``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from iconotext.read.edited_text import EditedText

NAME_END = r"\.(?:jpe?g|png|gif|webp|avif|tiff?|bmp|svg)"
IMAGE_NAME = re.compile(NAME_END + r"(?:\?[^\s?#]*)?(?:#[^\s?#]*)?$", re.IGNORECASE)
LIQUID_VALUE = re.compile(r"\{\{(?!-?\s*+[<%])((?:(?!\{\{|\}\}).){0,500})\}\}", re.DOTALL)
SHORTCODE = re.compile(
    r"\{\{[<%]\s*+(/?)\s*+([\w/.-]{1,99})((?:(?!\{\{|\}\}).){0,2000})(?<=[>%])\}\}",
    re.DOTALL,
)
LIQUID_TAG = re.compile(r"\{%-?\s*+(\w{1,99})((?:(?!\{%|%\}).){0,2000})%\}", re.DOTALL)
CODE_TAG = re.compile(r"\{%-?\s*+(end)?(highlight|comment)\b[^%]{0,200}+%\}")
ARGUMENT = re.compile(
    r"""(?:([\w-]++)\s*+=\s*+)?"""
    r"""(?:(?<!\w)"((?:[^"\\]|\\.?)*+)(?:"|$)|(?<!\w)'((?:[^'\\]|\\.?)*+)(?:'|$)|`([^`]*+)(?:`|$)|([^\s"'=]++))""",
    re.DOTALL,
)
QUOTED = re.compile(r"""["'](.*?)["']""")
ICON = re.compile(r":(?:material|fontawesome|octicons|simple)-[\w-]+:")
WIKI_IMAGE = re.compile(rf"!\[\[([^\[\]|#\n]{{1,300}}{NAME_END})(?:\|([^\[\]]*+))?\]\]", re.IGNORECASE)
LABEL = r"!\[[^\]\n!]{0,1000}+(?:!(?!\[)[^\]\n!]{0,1000}+){0,1000}\]\("
SPACED_IMAGE = re.compile(
    rf"({LABEL})[ \t]*+([^()<>\"\s][^()<>\"\n]{{0,400}}?{NAME_END})(?=[ \t]*+(?:\"[^\"\n]*+\"[ \t]*+)?\))",
    re.IGNORECASE,
)
IMAGE_ANCHOR = re.compile(rf"({LABEL}[^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)*+\))\{{:?([^{{}}\n]*+)\}}")
ANCHOR = re.compile(r"#([\w:.-]+)")
HEADING_ATTRIBUTES = re.compile(
    r"^(#{1,6}[ \t][^\n{]*+(?:\{(?![#.-])[^\n{]*+)*)\{(?:[#.][^{}\n]*+|-)\}[ \t]*+$", re.MULTILINE
)
ALT = re.compile(r"""\bfig-alt=(?:"([^"]*+)"|'([^']*+)')""")
ATTRIBUTE_LIST = re.compile(r"(?<=[)\]`*_])\{:?\s*+[.#][^{}\n]*+\}|^\{:[^{}\n]*+\}\s*$", re.MULTILINE)


def expand_site_tags(text: str) -> EditedText:
    """Replace the tags of site generators: image tags by HTML figures, addresses by plain ones, the rest by nothing.

    Jekyll: ``{{ site.baseurl }}``, ``{{ "/a.png" | relative_url }}``, ``{% include image.html url="a.png" %}``,
    ``{% link a.png %}``. Hugo: ``{{< figure src="a.png" caption="..." >}}`` and every other shortcode that names a
    image file. Hexo and Octopress: ``{% asset_img a.png Title %}``, ``{% img /a.png %}``. Obsidian: ``![[a.png]]``.
    MkDocs: icons such as ``:material-pencil:`` are no text. A space in an address, which many editors write and
    CommonMark forbids, is taken as meant.
    """
    edited = EditedText(text)
    if "{" in text:
        edited.replace([(start, end, "") for start, end in _code(text)])
        edited.sub(IMAGE_ANCHOR, _anchored)
        edited.sub(LIQUID_VALUE, _value)
        edited.sub(SHORTCODE, lambda m: "" if m[1] else _figure(m[3].rstrip("/>% \n"), name=m[2]))
        edited.sub(LIQUID_TAG, _tag)
        edited.sub(ATTRIBUTE_LIST, "")
        edited.sub(HEADING_ATTRIBUTES, lambda m: m[1])
    edited.sub(ICON, "")
    edited.sub(SPACED_IMAGE, lambda m: f"{m[1]}<{m[2]}>" if re.search(r"[ \t]", m[2]) else m[0])
    if "![[" in text:
        edited.sub(WIKI_IMAGE, lambda m: f'<img src="{escape(m[1].strip())}" alt="{escape(_wiki_alt(m[2]))}">')
    return edited


def _code(text: str) -> Iterator[tuple[int, int]]:
    """What stands between ``{% highlight %}`` or ``{% comment %}`` and its end, the tags included."""
    opened: dict[str, int] = {}  # where the first tag of each kind that is still open begins
    for tag in CODE_TAG.finditer(text):
        if not tag[1]:
            opened.setdefault(tag[2], tag.start())
        elif tag[2] in opened:
            yield opened[tag[2]], tag.end()
            opened.clear()


def _anchored(match: re.Match[str]) -> str:
    """``![](a.png){#fig-a}``: the identifier becomes that of a span around the picture.

    To Quarto and pandoc-crossref it is a figure, whose caption stands between the brackets.
    """
    names = ANCHOR.findall(match[2])
    if not names:
        return match[0]
    said = ALT.search(match[2])
    alt = (said[1] or said[2] or "") if said else ""
    is_figure = re.match(r"fig[:-]", names[-1], re.IGNORECASE) and not match[0].endswith("{:" + match[2] + "}")
    figure = f' data-figure="{escape(alt)}"' if is_figure else ""
    return f'<span id="{escape(names[-1])}"{figure}>{match[1]}</span>'


def _wiki_alt(label: str | None) -> str:
    label = (label or "").strip()
    return "" if re.fullmatch(r"\d*(?:x\d+)?", label) else label


def _value(match: re.Match[str]) -> str:
    """``{{ "/a.png" | relative_url }}`` names an address; ``{{ site.baseurl }}`` and the like stand for the site."""
    quoted = QUOTED.match(match[1].removeprefix("-").lstrip())
    return quoted[1] if quoted else ""


def _tag(match: re.Match[str]) -> str:
    name, rest = match[1], match[2].removesuffix("-")
    if name == "link":
        return "/" + rest.strip().lstrip("/")
    return _figure(rest, name=name)


def _figure(arguments: str, *, name: str) -> str:
    """HTML of a template tag that names an image; "" for any other tag."""
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
    said = "" if alt is None else f' alt="{escape(alt)}"'
    return f'\n\n{figure}<img src="{escape(source)}"{said}>{caption}</figure>\n\n'
