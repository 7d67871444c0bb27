r"""Formulas of LaTeX as text that people read: ``$\sqrt{x_1} \le \alpha$`` is shown as ``√x₁ ≤ α``.

Sentences hold that text, and so do pages, chunks and the search: neither readers nor models of sentences know the
commands, and who wants them finds them in the file. A formula that cannot be converted stays as the author wrote it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lxml import etree

FORMULA = (
    r"\$\$[^$]{1,2000}+\$\$|\$(?:(?<!\d\$)|(?=[\\^_~{]))(?=[^\s$])[^$]{1,1000}+(?<!\s)\$(?!\w)"
    r"|\\begin\{(?:equation|align|gather|multline|eqnarray|displaymath)\*?\}(?:[^\\]|\\(?!end\{)){1,2000}\\end\{\w{1,20}\*?\}"
)
"""A formula in Markdown; ``shown`` decides whether it is one. The dollar behind a number is that of a price, but for
``90$^{\\circ}$``. The group is not possessive: Python 3.11.2 loses its place where the last try fails midway."""
WRITTEN = re.compile(r"(\$\$?|\\begin\{\w+\*?\})(.+?)(?:\1|\\end\{\w+\*?\})", re.DOTALL)
IS_MATHS = re.compile(r".*[\\^_=<>{}].*|[\d.,\s]+|(?!\d)(?:[\W\d_]|(?<![^\W\d_])[^\W\d_]{1,2}(?![^\W\d_]))+", re.DOTALL)
"""A text between dollars that is no pair of prices: markup of LaTeX, a number, or no word longer than two letters."""
DROPPED = re.compile(
    r"\\(?:rm|bf|it|sf|tt|cal|nonumber|notag|limits|displaystyle|textstyle|label\{[^{}]{0,99}\}|tag\{[^{}]{0,99}\})(?![a-zA-Z])"
)
"""Commands that change no letter; the converter does not know all of them."""
LEADING = re.compile(r"(^|\( ?|[,;=<>≤≥] ?)([−+±∓∼]) ")
"""A sign with nothing before it that it could join."""
ESCAPED = re.compile(r"\\.", re.DOTALL)
ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)\w{1,40};")
STYLED = re.compile("[\U0001d400-\U0001d7ff]")  # the letters of bold, script, ...
SUPERSCRIPTS = str.maketrans("0123456789+−-n∘′'", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ°′′")
SUBSCRIPTS = str.maketrans("0123456789+−-", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
ACCENTS = dict(zip("ˆ^˜~¯_ˉ→˙.¨", "\u0302\u0302\u0303\u0303\u0304\u0304\u0304\u20d7\u0307\u0307\u0308", strict=True))
SPACED = frozenset("=≠<>≤≥≪≫≈≃≅∼∝≡≔→←↔⇒⇔↦∈∉⊂⊆∪∩∧∨×÷±∓+−*·⋅∣")
CLOSED = re.compile(r"\w+|.[\u0300-\u036f\u20d7]?|\([^()]*\)|√\w+")
"""A part that needs no brackets around it."""


def shown(written: str) -> str | None:
    """Return the text of a formula with its delimiters; None if it is none, or cannot be converted."""
    match = WRITTEN.fullmatch(written)
    if match is None or (match[1] == "$" and not IS_MATHS.fullmatch(match[2])):
        return None
    return readable(match[2])


@lru_cache(10_000)
def readable(formula: str) -> str | None:
    """Return the text of a formula of LaTeX without its delimiters; None if it cannot be converted."""
    from docutils.utils.math.latex2mathml import tex2mathml

    if formula.isalnum():
        return formula
    braces = ESCAPED.sub("", formula)
    if braces.count("{") != braces.count("}"):
        return None
    try:
        known = DROPPED.sub("", formula).replace(r"\dots", r"\ldots").strip()
        markup = tex2mathml("{}" + known if known[:1] in ("^", "_") else known, as_block=True)  # 90$^{\circ}$
        text = _text(etree.fromstring(ENTITY.sub("", markup)))
    except Exception:  # whatever the converter makes of it: a formula that it does not know stays as it is written
        return None
    return LEADING.sub(r"\1\2", " ".join(text.split())).replace("( ", "(").replace(" )", ")") or None


def _text(element: Any) -> str:
    """Return the text of an element of MathML."""
    parts = [_text(part) for part in element if isinstance(part.tag, str)]
    first, second, third = (*parts, "", "", "")[:3]
    match etree.QName(element).localname:
        case "mi" | "mn" | "mtext":
            text = STYLED.sub(lambda letter: unicodedata.normalize("NFKC", letter[0]), element.text or "")
            return f" {text} " if len(text) > 1 and text.isalpha() else text
        case "mo":
            sign = (element.text or "").replace("∶", ":")
            return f" {sign} " if sign in SPACED else f"{sign} " if sign in (",", ";", ":") else sign
        case "mspace":
            return " "
        case "mfrac":
            return f"{_closed(first)}/{_closed(second)}"
        case "msqrt":
            return f"√{_closed(''.join(parts))}"
        case "mroot":
            return f"{_script(second, SUPERSCRIPTS, '^')}√{_closed(first)}"
        case "msub" | "munder":
            return first.rstrip() + _script(second, SUBSCRIPTS, "_") + first[len(first.rstrip()) :]
        case "msup":
            return first + _script(second, SUPERSCRIPTS, "^")
        case "mover":
            accent = ACCENTS.get(second.strip(), "")
            return first.strip() + accent if element.get("accent") else first + _script(second, SUPERSCRIPTS, "^")
        case "msubsup" | "munderover":
            return first + _script(second, SUBSCRIPTS, "_") + _script(third, SUPERSCRIPTS, "^")
        case "mtr":
            return " ".join(parts)
        case "mtable":
            return "; ".join(" ".join(part.split()) for part in parts)
        case _:
            return "".join(parts)


def _closed(text: str) -> str:
    """Return a part of a formula, in brackets if it is more than one word or number."""
    text = " ".join(text.split())
    return text if CLOSED.fullmatch(text) else f"({text})"


def _script(text: str, signs: Mapping[int, int], mark: str) -> str:
    """Return an index or exponent: small signs where there are such, else a mark and the text."""
    text = "".join(text.split()) if len(text.split()) > 1 and len(text) < 12 else text.strip()
    small = text.translate(signs)
    if not any(sign in text for sign in small):
        return small
    return f"{mark}{_closed(text)}"
