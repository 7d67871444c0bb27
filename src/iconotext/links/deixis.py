"""Words that point at a picture nearby: 'the photo above', 'pictured below', 'auf dem folgenden Bild'."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Direction = Literal["above", "below", "near"]


class Pointer(NamedTuple):
    """A deictic reference.

    Attributes:
        direction: Where to look, 'near' for either side.
        several: Whether it speaks of several pictures ('the photos below').
    """

    direction: Direction
    several: bool


_EN = (
    r"(?:photo(?:graph)?|picture|image|figure|illustration|diagram|drawing|screenshot|painting|sketch|pic|map|chart"
    r"|graph)"
)
_DE = r"(?:bild|foto|abbildung|grafik|aufnahme|zeichnung|karte|screenshot|skizze)"
_FR = r"(?:photo(?:graphie)?|image|figure|illustration|schéma|carte|dessin|graphique)"
_ES = r"(?:foto(?:grafía)?|imagen|figura|ilustración|dibujo|mapa|gráfico)"
_SHOWN = r"(?:pictured|shown|seen|depicted|illustrated)"

_PATTERNS: tuple[tuple[Direction, str], ...] = (
    ("above", rf"\b{_EN}(?P<s>s)?\s+(?:(?:just|shown|seen|directly|right)\s+)*above\b(?!\s+(?:all|\d))"),
    ("above", rf"\b(?:above|preceding|previous)[\s-]+{_EN}(?P<s>s)?\b"),
    ("above", rf"\b{_SHOWN}\s+(?:just\s+|directly\s+)?above\b"),
    ("above", r"\bsee\s+(?:just\s+)?above\s+(?:photo|picture|image)"),
    ("below", rf"\b{_EN}(?P<s>s)?\s+(?:(?:just|shown|seen|directly|right)\s+)*below\b(?!\s+\d)"),
    ("below", rf"\b(?:following|below|next)[\s-]+(?:(?:two|three|four|few|\d)\s+)?{_EN}(?P<s>s)?\b"),
    ("below", rf"\b{_SHOWN}\s+(?:just\s+|directly\s+)?below\b"),
    ("near", rf"\b(?:adjacent|accompanying|opposite)\s+{_EN}(?P<s>s)?\b"),
    ("near", rf"\b(?:in|on|from)\s+(?:this|these)\s+{_EN}(?P<s>s)?\b"),
    (
        "near",
        rf"\b(?:see|can see|look at|as in|shown in)\s+(?:it\s+)?(?:(?:in|on)\s+)?(?:the|this|these)\s+{_EN}(?P<s>s)?\b",
    ),
    (
        "near",
        rf"\(\s*(?:see\s+)?(?:{_EN}(?P<s>s)?|{_SHOWN})(?:\s+(?:here|at (?:left|right)|on the (?:left|right)))?\s*\)",
    ),
    ("near", rf"\b(?:{_EN}(?P<s>s)?|{_SHOWN})\s+(?:here|at (?:left|right)|on the (?:left|right))\b"),
    ("above", rf"\b{_DE}(?P<s>e?r|s|en)?\s+(?:weiter\s+)?oben\b"),
    ("above", rf"\b(?:obige|obenstehende|vorherige|vorige)[nrms]?\s+{_DE}(?P<s>er|s|en)?\b"),
    ("below", rf"\b{_DE}(?P<s>e?r|s|en)?\s+(?:weiter\s+)?unten\b"),
    ("below", rf"\b(?:folgende|nachfolgende|unten\s?stehende|nächste)[nrms]?\s+{_DE}(?P<s>er|s|en)?\b"),
    ("near", rf"\b(?:auf|in|im|siehe)\s+(?:dem|diesem|der|dieser|nebenstehende[nrm])\s+{_DE}\b"),
    ("above", rf"\b{_FR}(?P<s>s)?\s+(?:ci-dessus|précédente?s?)"),
    ("below", rf"\b{_FR}(?P<s>s)?\s+(?:ci-dessous|suivante?s?)"),
    ("near", rf"\b{_FR}(?P<s>s)?\s+ci-(?:contre|après|jointe?s?)"),
    ("above", rf"\b{_ES}(?P<s>s)?\s+(?:de\s+arriba|anterior(?:es)?)\b"),
    ("below", rf"\b{_ES}(?P<s>s)?\s+(?:de\s+abajo|siguientes?)\b"),
    ("below", rf"\b(?:las?|los?|el)\s+siguientes?\s+{_ES}(?P<s>s)?\b"),
    ("above", rf"\b(?:las?|los?|el)\s+anterior(?:es)?\s+{_ES}(?P<s>s)?\b"),
)
_ANY = re.compile("|".join((_EN, _DE, _FR, _ES, _SHOWN)))  # every pattern contains one of these words
_COMPILED = tuple((direction, re.compile(pattern, re.IGNORECASE)) for direction, pattern in _PATTERNS)


def pointer(text: str) -> Pointer | None:
    """The first deictic reference of a sentence, 'above' and 'below' before 'near'; None without any."""
    if not _ANY.search(text.lower()):
        return None
    for direction, pattern in _COMPILED:
        if match := pattern.search(text):
            several = "s" in pattern.groupindex and bool(match.group("s"))
            return Pointer(direction, several)
    return None
