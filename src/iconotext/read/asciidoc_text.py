"""AsciiDoc within a paragraph → HTML: attributes, references, pictures, emphasis."""

from __future__ import annotations

import re
from html import escape

from iconotext.errors import HostileDocumentError
from iconotext.read.address import SCHEME
from iconotext.read.cross_references import reference
from iconotext.read.figure_html import picture

REFERENCE = re.compile(r"(\\?)\{([\w-]{1,100})\}")
ATTRIBUTE = re.compile(
    r"\s*+(?:([\w-]{1,50})\s*+=\s*+)?(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'|([^,]*+))[^,]*+(?:,|$)"
)
MACRO = re.compile(
    r"(?P<pass>pass:[a-z,]{0,20}\[(?P<raw>[^\]]{0,250}+)\]|\+\+\+(?P<plus>[^+]{0,250}+)\+\+\+)"
    r"|(?P<index>\(\(\((?:[^()]|\([^()]{0,100}+\)){0,250}+\)\)\))"
    r"|\(\((?P<term>[^()]{1,200}+)\)\)"
    r"|image:(?P<image>[^\s:\[][^\[\s]{0,250}+)\[(?P<about>(?:[^\]\\]|\\.){0,250}+)\]"
    r"|<<(?P<label>[^<>,]{1,200}+)(?:,(?P<text>[^<>]{0,250}+))?>>"
    r"|xref:(?P<to>[^\[\s]{1,200}+)\[(?P<said>[^\]]{0,250}+)\]"
    r"|(?:link:(?:\+\+)?|mailto:)(?P<link>[^\[\s]{1,250}+)\[(?P<shown>[^\]]{0,250}+)\]"
    r"|(?P<url>https?://[^\s\[<>\"]{1,250}+)(?:\[(?P<name>[^\]]{0,250}+)\])?"
    r"|(?P<note>footnote(?:ref)?:[\w-]{0,50}\[(?:[^\[\]]|\[[^\[\]]{0,200}+\]){0,250}+\])"
    r"|\[\[(?P<anchor>[^\[\],]{1,200}+)(?:,[^\]]{0,200}+)?\]\]|anchor:(?P<place>[\w-]{1,100})\[[^\]]{0,100}+\]"
    r"|(?:stem|latexmath|asciimath):\[(?P<math>(?:[^\]\\]|\\.){0,250}+)\]"
    r"|(?:kbd|btn|menu:[^\[\s]{0,100}+|icon:[^\[\s]{0,100}+):?\[(?P<key>[^\]]{0,100}+)\]"
)
PAIRS = ((r"\*", "strong"), ("_", "em"), ("`", "code"), (r"\+", "code"))
QUOTES = (
    *((re.compile(rf"{mark}{mark}(?P<said>[^{mark}\n]{{1,250}}+){mark}{mark}"), tag) for mark, tag in PAIRS),
    *(
        (re.compile(rf"(?<![\w{mark}]){mark}(?=\S)(?P<said>[^{mark}\n]{{1,250}}+){mark}(?![\w{mark}])"), tag)
        for mark, tag in PAIRS
    ),
    (re.compile(r"\^(?P<said>[^\s^]{1,100}+)\^"), "sup"),
    (re.compile(r"~(?P<said>[^\s~]{1,100}+)~"), "sub"),
    (re.compile(r"(?:\[[^\[\]]{0,100}+\])?(?<![\w#&])#(?=\S)(?P<said>[^#\n]{1,250}+)#(?![\w#])"), "mark"),
)
ENTITY = re.compile(r"&amp;(#\d{1,7}|#x[\da-fA-F]{1,6}|[a-zA-Z]{2,20});")
HELD = re.compile("\ue000(\\d{1,7})\ue001")
MAX_VALUE = 4_000
"""Characters of the value of an attribute, what is in it filled in."""
MAX_FILLED = 16 * 2**20
"""Characters that attributes add to a document."""
KNOWN = {
    "nbsp": "\u00a0", "sp": " ", "empty": "", "zwsp": "\u200b", "apos": "'", "quot": '"', "lt": "<", "gt": ">",
    "amp": "&", "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "deg": "°", "plus": "+", "startsb": "[",
    "endsb": "]", "vbar": "|", "caret": "^", "asterisk": "*", "tilde": "~", "backslash": "\\", "two-colons": "::",
    "cpp": "C++",
}  # fmt: skip
OURS = {"backend": "html5", "backend-html5": "", "basebackend-html": "", "outfilesuffix": ".html"}
"""What a converter to HTML sets: conditions ask for it."""


def parse_attributes(text: str) -> tuple[list[str], dict[str, str]]:
    """Of ``alt,300,role="left"`` what has no name, in its order, and what has one."""
    plain: list[str] = []
    named: dict[str, str] = {}
    for found in ATTRIBUTE.finditer(text):
        value = (found[2] or found[3] or found[4] or "").strip()
        if found[1]:
            named.setdefault(found[1], value)
        elif found[0]:
            plain.append(value)
    return plain, named


class Texts:
    """Makes HTML of texts, with the attributes that the document has set so far.

    Attributes:
        reference_texts: What references to a label show where the author says so: ``[[label,text]]``.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, str] = dict(OURS)
        self.reference_texts: dict[str, str] = {}
        self._filled = 0

    def set(self, entry: re.Match[str]) -> None:
        """``:name: value``, or ``:!name:``, which takes it away."""
        if entry[1] or entry[3]:
            self.attributes.pop(entry[2], None)
        else:
            self.attributes[entry[2]] = self.filled(entry[4] or "").strip()[:MAX_VALUE]

    def filled(self, text: str) -> str:
        """A text with the values of the attributes in it.

        Raises:
            HostileDocumentError: They add more to the document than a real one ever has.
        """

        def value(found: re.Match[str]) -> str:
            if found[1]:
                return found[0][1:]
            name = found[2].lower()
            known = self.attributes.get(found[2], self.attributes.get(name, KNOWN.get(name)))
            if known is None:
                return found[0]
            self._filled += len(known)
            if self._filled > MAX_FILLED:
                raise HostileDocumentError(
                    f"its attributes add more than {MAX_FILLED / 2**20:.0f} MiB to it: shorten them"
                )
            return known

        return REFERENCE.sub(value, text) if "{" in text else text

    @staticmethod
    def escaped(text: str) -> str:
        """A text as a value in HTML."""
        return escape(text)

    def picture(self, address: str, plain: list[str], named: dict[str, str]) -> str:
        """HTML of a picture; ``imagesdir`` says where pictures lie."""
        address = self.filled(address).strip()
        folder = self.attributes.get("imagesdir", "")
        if folder and not SCHEME.match(address) and not address.startswith("/"):
            address = f"{folder.rstrip('/')}/{address}"
        alt = named.get("alt") or (plain[0] if plain else "")
        return picture(address, alt or None)

    def html(self, text: str) -> str:
        """HTML of a text."""
        held: list[str] = []

        def hold(html: str) -> str:
            held.append(html)
            return f"\ue000{len(held) - 1}\ue001"

        text = self.filled(text.replace("\ue000", "").replace("\ue001", ""))
        text = escape(MACRO.sub(lambda found: hold(self._macro(found)), text), quote=False)
        text = ENTITY.sub(r"&\1;", text)
        for expression, tag in QUOTES:
            text = expression.sub(rf"<{tag}>\g<said></{tag}>", text)
        return HELD.sub(lambda found: held[int(found[1])] if int(found[1]) < len(held) else "", text)

    def _macro(self, found: re.Match[str]) -> str:
        """HTML of what begins with a name and a colon, or stands in double brackets."""
        parts = {name: value for name, value in found.groupdict().items() if value is not None}
        if "pass" in parts:
            return parts.get("raw", parts.get("plus", ""))
        if "term" in parts:
            return escape(parts["term"])
        if "image" in parts:
            return self.picture(parts["image"], *parse_attributes(parts["about"]))
        if "label" in parts or "to" in parts:
            label = parts.get("label", parts.get("to", "")).strip()
            label = label.rpartition("#")[2] or label
            said = parts.get("text", parts.get("said", "")).strip() or self.reference_texts.get(label, "")
            return reference(label, said, said or f"[{label}]")
        if "anchor" in parts or "place" in parts:
            return f'<span id="{escape(parts.get("anchor", parts.get("place", "")))}"></span>'
        if "link" in parts or "url" in parts:
            address = parts.get("link", parts.get("url", ""))
            said = parts.get("shown", parts.get("name", "")).split(",")[0].rstrip("^") or address
            return f'<a href="{escape(address)}">{escape(said)}</a>'
        if "math" in parts:
            return escape(f"${parts['math']}$")
        return escape(parts.get("key", ""))
