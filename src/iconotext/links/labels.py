"""Numbered labels of images, 'Figure 3' or 'Abb. 3.2a': those that a caption begins with, those that a text cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from iconotext.links.words import of_texts


class Label(NamedTuple):
    """A numbered label.

    Attributes:
        family: One name for words of the same meaning: 'figure' for Figure, Fig., Abb., Рис., 図; may begin with
            'supplementary '.
        number: '3', '3.2', 'iv', 's1'; separators are points.
        part: 'a' of 'Figure 3a', or ''.
    """

    family: str
    number: str
    part: str = ""


# The words of each family. A number must follow, so that a short form does not hide a longer one.
_FAMILIES: dict[str, str] = {
    "figure": r"figures?|figs?\.?|abbildung(?:en)?|abb\.?|figuras|figura|figure|figuren?|figuur|afbeelding(?:en)?"
    r"|afb\.?|рисун(?:ок|ка|ке|ком|ки|ках|ков)|рис\.?|rysun(?:ek|ku|ki|kach)|rys\.?|obr(?:ázek|ázku|\.)|ábra|kuva|şekil",
    "photo": r"photographs?|photos?|fotos?|fotografías?|фото",
    "plate": r"plates?|tafeln?|planches?|pl\.|láminas?|tavol[ae]",
    "table": r"tables?|tab\.|tabellen?|tableaux?|tablas?|tabell[ae]|tabelas?|табл(?:ица|ице|ицы|\.)|tabel(?:len)?",
    "image": r"images?|pictures?|pics?\.?|bild(?:er|ern)?|imágenes|imagen|immagin[ei]|imagens?|imagem",
    "map": r"maps?|karten?|cartes?|mapas?|carta",
    "diagram": r"diagrams?|diagramm|diagrama",
    "chart": r"charts?|graphs?|grafi[kc]o?|gráficos?",
    "scheme": r"schemes?|schema|schéma",
    "exhibit": r"exhibits?",
    "illustration": r"illustrations?|ill\.|illus\.|ilustraci[oó]n",
    "screenshot": r"screenshots?",
    "drawing": r"drawings?|zeichnung(?:en)?",
}
_PLURAL = re.compile(
    r"(?i)^(?:\w+s|figs\.|abb\.?|abbildungen|afb\.?|afbeeldingen|figuren|tafeln|tabellen|bilder[n]?|karten|tableaux"
    r"|zeichnungen|рис\.?|рисун(?:ки|ках|ков)|rys\.?|rysun(?:ki|kach)|imágenes|immagini|tavole|табл\.?|[图図圖表])$"
)
_NUMBER = r"(?:[A-Z]\.?)?\d+(?:[.\-‐‑–]\d+)*|[IVX]{1,6}(?![\w])"
_PART = r"(?:\s?\(?[a-h](?:\s?[-–,&]\s?[a-h])*\)?(?!\w))"
_ITEM = rf"(?P<number>{_NUMBER})(?P<part>{_PART})?"
_EAST = {
    "图": "figure",
    "図": "figure",
    "圖": "figure",
    "그림": "figure",
    "写真": "photo",
    "表": "table",
    "照片": "photo",
}
_WORD = "|".join(f"(?P<{family}>{words})" for family, words in _FAMILIES.items())
_START = re.compile(
    r"(?:(?<!\w)(?=\w)|(?=[图図圖그写照表]))"  # only at the beginning of a word
    rf"(?P<more>\b(?:supplementary|supplemental|suppl?\.|extended data|appendix|ergänzende)\s++)?"
    rf"(?:(?:(?<!\w)(?:{_WORD}))[\s\u00a0~]*+(?:no\.|nr\.|№|#)?\s*+|(?P<east>图|図|圖|그림|写真|照片|表)\s*+)"
    rf"(?={_NUMBER})",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"\d|[IVX](?!\w)", re.IGNORECASE)  # fast first test: every label has a numeral
_NUMBERED = re.compile(_ITEM)
_JOIN = re.compile(
    r"\s*(?P<range>-|‐|–|—|to\b|through\b|bis\b|à\b|a\b|～|~|至|до\b)\s*"
    r"|\s*(?:[,;、]\s*(?:and|&|und|et|y|e|и|or|oder|en)?|and\b|&|und\b|et\b|y\b|e\b|en\b|и\b|or\b|oder\b|和|と|及び?)\s*",
    re.IGNORECASE,
)
# 'Figure 3 of [12]', 'Fig. 3 in Smith et al.', 'Figure 3 in Chapter 2': a figure of another document.
_ELSEWHERE_AFTER = re.compile(
    r"[\s,]*\(?(?:of|in|from|by|aus|von|de|dans|en|di|da|из|в)\s+(?:the\s+|their\s+|his\s+|her\s+|its\s+|our\s+)?"
    r"(?:\[|\(?(?-i:[A-ZÀ-Þ])[\w’'-]+(?:,?\s+(?:(?:and|&|und|et|y)\s+)?(?-i:[A-Z])[\w’'-]+)*\s*"
    r"(?:et al|\(?(?:1[89]|20)\d\d)"
    r"|ref(?:s?\.|erences?)|(?:(?:previous|original|earlier|companion|first|second|online|supplementary)\s+)*"
    r"(?:chapter|appendix|volume|vol\.|supplement|supporting|paper|article|book|textbook|report|thesis|study)\b)",
    re.IGNORECASE,
)
_ELSEWHERE_BEFORE = re.compile(
    r"(?:\[\d+[,;:]\s*|\b(?:1[89]|20)\d\d[a-z]?\)?[,;:]\s*|\bet al\.?[,;:]?\s*|(?-i:[A-Z])\w+[’']s\s+"
    r"|\b(?:their|his|her|whose)\s+)$",
    re.IGNORECASE,
)
# 'we figure 3 people', 'a figure 8 knot': after one of these words, 'figure' in lower case is no label.
_VERB_BEFORE = re.compile(r"\b(?:a|an|to|go|can|could|i|we|you|they|let’s|let's|should|would|of)\s+$", re.IGNORECASE)
BEFORE = 100
"""Characters before a label that are searched for such words."""
_BEFORE_LABEL = " *_([#>\t\u00a0"
_COLON = re.compile(r"\s*(?:[:.|—–：]|-\s)(?!\d)\s*\S")


@of_texts
def own_labels(text: str) -> tuple[Label, ...]:
    """The labels at the beginning of a caption; empty without any."""
    start = _START.match(text.lstrip(_BEFORE_LABEL))
    if start is None:
        return ()
    labels, _ = _numbers(start.string, start)
    return tuple(labels)


def unlabelled(text: str) -> str:
    """A caption without the labels at its beginning."""
    start = _START.match(text.lstrip(_BEFORE_LABEL))
    if start is None:
        return text
    _, end = _numbers(start.string, start)
    return start.string[end:].lstrip(" :.|—–：-*_)]")


def is_caption(text: str) -> bool:
    """Whether a text begins like a caption: with a label and a colon, a point or a dash."""
    start = _START.match(text.lstrip(" *_(["))
    if start is None:
        return False
    _, end = _numbers(start.string, start)
    return _COLON.match(start.string, end) is not None


def cited_labels(text: str) -> tuple[Label, ...]:
    """The labels that a sentence cites, in order, with ranges and lists spelled out; no figures of other documents."""
    return tuple(_cited(text)) if _NUMERAL.search(text) else ()


def _cited(text: str) -> Iterator[Label]:
    at = 0
    while (start := _START.search(text, at)) is not None:
        labels, at = _numbers(text, start)
        at = max(at, start.end())
        before = text[max(0, start.start() - BEFORE) : start.start()]
        if start.group()[0].islower() and _VERB_BEFORE.search(before) and start.group("figure"):
            continue
        if _ELSEWHERE_BEFORE.search(before) or _ELSEWHERE_AFTER.match(text, at):
            continue
        yield from labels


def _numbers(text: str, start: re.Match[str]) -> tuple[list[Label], int]:
    """The labels that follow the matched word, and the position where they end."""
    word = start.group().strip()
    family = _EAST[start.group("east")] if start.group("east") else _family(start)
    if start.group("more"):
        family = f"supplementary {family}"
        word = word.split()[-1]
    plural = _PLURAL.match(re.sub(r"(?:no\.|nr\.|№|#)$", "", word, flags=re.IGNORECASE).rstrip()) is not None
    item = _NUMBERED.match(text, start.end())
    if item is None:  # the look-ahead saw a number without regard to case
        return [], start.end()
    labels = _spell(family, item, plural=plural)
    end = item.end()
    while plural and (join := _JOIN.match(text, end)) is not None:
        item = _NUMBERED.match(text, join.end())
        if item is None:
            break
        following = _spell(family, item, plural=plural)
        if join.group("range") and labels[-1].number.isdigit() and item.group("number").isdigit():
            first, last = int(labels[-1].number), int(item.group("number"))
            if not first < last <= first + 30:
                break
            labels.extend(Label(family, str(n)) for n in range(first + 1, last))
        labels.extend(following)
        end = item.end()
    return labels, end


def _family(start: re.Match[str]) -> str:
    """The family of the matched word."""
    return next(family for family in _FAMILIES if start.group(family))


def _spell(family: str, item: re.Match[str], *, plural: bool) -> list[Label]:
    """The labels of one number: 'Figures 2-4' are three labels, 'Figure 2-4' is the fourth figure of chapter two."""
    number = re.sub(r"[\-‐‑–]", ".", item.group("number").lower())
    parts = re.findall(r"[a-h]", item.group("part") or "")
    pieces = re.split(r"[\-‐‑–]", item.group("number"))
    if plural and len(pieces) == 2 and all(piece.isdigit() for piece in pieces):
        first, last = int(pieces[0]), int(pieces[1])
        if first < last <= first + 30:
            return [Label(family, str(n)) for n in range(first, last + 1)]
    if len(parts) == 2 and re.search(r"[-–]", item.group("part") or ""):
        parts = [chr(c) for c in range(ord(parts[0]), ord(parts[1]) + 1)]
    return [Label(family, number, part) for part in parts] or [Label(family, number)]
