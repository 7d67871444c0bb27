"""Languages and words of short texts: ``other_language`` recognises a language, ``same`` compares two texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

LEAST = 3
"""Number of words that must belong to one language alone, with none of the other language alone."""

_COMMON = {
    "en": "the of and is are with from that which this their his her it was were has have been by an at on into who",
    "de": "der die das und ist sind mit von dem den des ein eine einem einen einer auf im zu für nicht auch aus bei "
    "wird an was so in am as is er es",
    "fr": "le les une est sont avec dans du des et sur qui pour par au aux ce cette il elle dont sous",
    "es": "el los las una es son con del y en que por para su sus al como está están sobre este esta se",
    "it": "il lo gli una è sono con del della dei delle e di che per nel nella da si su un sul alla questo questa",
    "pt": "o os uma é são com do da dos das e em que por para no na nos nas um ao à seu sua não",
    "nl": "de het een is zijn met van en op in dat voor aan uit door naar bij niet ook wordt deze",
    "sv": "och är en ett med på av som den det för till från har inte vid under",
    "da": "og er en et med på af som den det for til fra har ikke ved under",
    "pl": "i jest są z na w do że się nie dla przez oraz od przy jak który która",
    "cs": "a je jsou s na v do že se pro od při jak který která není nebo",
    "fi": "ja on ovat se joka jossa kanssa mutta sekä ei että",
    "hu": "a az és egy van vannak hogy nem amely aki",
    "tr": "ve bir bu ile için olan olarak de da gibi",
}
"""The most common words of some languages, including words that other languages share."""

_WORDS = {language: frozenset(common.split()) for language, common in _COMMON.items()}
_ALONE = {
    language: words - frozenset(word for other, common in _WORDS.items() if other != language for word in common)
    for language, words in _WORDS.items()
}

_SCRIPTS = {
    "LATIN": "af ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv ms mt nb nl nn no pl pt ro sk sl sq sv "
    "sw tr vi",
    "CYRILLIC": "be bg kk ky mk mn ru sr tg tt uk",
    "GREEK": "el",
    "HEBREW": "he yi",
    "ARABIC": "ar fa ps ur ug",
    "HANGUL": "ko",
    "CJK": "ja zh ko",
    "DEVANAGARI": "hi mr ne sa",
    "THAI": "th",
}
_OF_SCRIPT = {script: frozenset(languages.split()) for script, languages in _SCRIPTS.items()}
_KNOWN = frozenset[str]().union(*_OF_SCRIPT.values())
_LETTER = re.compile(r"[^\W\d_]")


def other_language(text: str, language: str) -> str | None:
    """Return the language of a text if it is certainly not ``language``: an ISO 639-1 code, or "Latin letters".

    A script that the language does not use is certain if nearly all of the text's letters, and enough of them, are in
    it. In the same script, at least ``LEAST`` different words must belong to one other language alone, and none to
    ``language`` alone.
    """
    text_words = words(text)
    script = _script(text)
    if script is not None and language not in _OF_SCRIPT[script] and language in _KNOWN:
        name = "Chinese or Japanese characters" if script == "CJK" else f"{script.capitalize()} letters"
        return name if len(_LETTER.findall(text)) >= 2 * LEAST else None
    if language not in _WORDS or _ALONE[language].intersection(text_words):
        return None
    counts = {other: len(words.intersection(text_words)) for other, words in _ALONE.items() if other != language}
    best = max(counts, key=lambda other: counts[other])
    return best if counts[best] >= LEAST else None


def main_language(texts: Sequence[str]) -> str | None:
    """Return the language of a document, by its most common words; None if none stands out."""
    text_words = [word for text in texts for word in words(text[:2_000])][:2_000]
    if len(text_words) < 20:
        return None
    counts = {language: sum(word in words for word in text_words) for language, words in _WORDS.items()}
    best, second = sorted(counts, key=lambda language: -counts[language])[:2]
    return best if counts[best] >= 0.15 * len(text_words) and counts[best] >= 1.5 * counts[second] else None


def _script(text: str) -> str | None:
    """Return the script of at least 90 % of the letters of a text; None if there is none."""
    letters = _LETTER.findall(text)[:500]
    names = [_name(letter) for letter in letters]
    best = max(set(names), key=names.count, default="")
    return best if best in _OF_SCRIPT and names.count(best) >= 0.9 * len(names) else None


def _name(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


NEAR = 0.9
"""Share of words in the same order above which two texts count as nearly equal."""

FEW = 4
"""Texts with fewer words must be equal word for word."""

COMPARED = 200
"""Most words of two texts, between what is equal at their beginnings and ends, that are compared word by word."""

_WORD = re.compile(r"[^\W_]+")

# "3 fox", "fox 3" or "fox3"
_NUMBERED = re.compile(r"(\d{1,3}) (\D*[^\W\d])|(\D*[^\W\d]) ?(\d{1,3})")

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def without_number(text: str) -> tuple[str, int] | None:
    """Split a short text that begins or ends with a number, of at most three digits, into words and number."""
    match = _NUMBERED.fullmatch(" ".join(words(text)))
    if match is None:
        return None
    name = match[2] or match[3]
    return None if name.count(" ") >= FEW - 1 else (name, int(match[1] or match[4]))


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts and their sentences, split only at punctuation, which is enough for comparing."""
    for text in texts:
        yield text
        parts = _SENTENCE_END.split(text)
        if len(parts) > 1:
            yield from parts


def same(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two texts have the same words, or nearly the same if both have at least ``FEW``.

    Between what is equal at their beginnings and ends, no more than ``COMPARED`` words are compared.
    """
    if not one or not other:
        return False
    if one == other:
        return True
    needed = NEAR * (len(one) + len(other)) / 2  # words in the same order
    if min(len(one), len(other)) < max(FEW, needed):
        return False
    begin = _equal(one, other)
    end = _equal(one[begin:][::-1], other[begin:][::-1])
    parts = one[begin : len(one) - end], other[begin : len(other) - end]
    if max(map(len, parts)) > COMPARED:  # comparing costs the product of their lengths
        return False
    matcher = SequenceMatcher(None, *parts, autojunk=False)
    half = sum(map(len, parts)) / 2
    needed -= begin + end
    return matcher.quick_ratio() * half >= needed and matcher.ratio() * half >= needed


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two texts have in common at the beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
