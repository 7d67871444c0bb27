"""The language of a document, and the division of its text into sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from iconotext.errors import SettingError

ENGLISH = frozenset(("the of and to in is that for it with as was on are this be by you from have an not at").split())
LATIN_LETTER = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
OTHER_LETTER = re.compile(r"(?![A-Za-z\u00aa-\u024f\u1e00-\u1eff])[^\W\d_]")
WORD = re.compile(r"[^\W\d_]+")
SAMPLE = 2_000  # number of characters by which a language is detected
ENOUGH = 120
"""With this many characters, some 20 words, the language is detected correctly in 96 to 100 % of cases; see results."""
SURE = 0.9  # probability from which a language counts as detected
WINDOW = 10_000  # characters that are split into sentences at a time: some 80 sentences

ENGLISH_NUMBERED = "figs? fgs? eqs? eqns? pp? vols? chs? chap sects? secs? suppl abb".replace(" ", "|")
"""Abbreviations before the number of a figure, a table, a page and so on."""
NUMBERED = (
    "nos nrn? vgl abbn afb abschn anh bd bl blz bld cap cz çiz figg gl hfst ilustr kap nº núm num obr pág págs "
    "pag pagg par rys ryc sch schem şek sl slik str stn taf tabl tav tbl uppl εικ πιν σχ σελ гл илл? рис стр "
    "табл черт мал фиг сл ص"
).replace(" ", "|")
"""The same in other languages."""
WORDS_TOO = "tabs?|ills?|arts?|exs?|nos?|pls?"
"""The same for abbreviations that are also English words; in English they must begin with a capital letter."""
ABBREVIATED = re.compile(rf"(?<![^\W_])(?:{ENGLISH_NUMBERED}|{NUMBERED}|{WORDS_TOO}|[scčn])\.$", re.IGNORECASE)
ABBREVIATED_ENGLISH = re.compile(rf"(?<![^\W_])(?:(?i:{ENGLISH_NUMBERED})|(?=[A-Z])(?i:{WORDS_TOO}))\.$")
SAID = re.compile(
    r"[。！？][」』”’](?:と(?!ころ|ても|にかく|もかく|りあえず)|って|を|的|[^，。！？：“「\s]{1,4}[说說道问問答喊叫][，。！？])"
    r"|[.!?…][”’\"'](?:이?라고|하고)\s|[。！？]》"
)
"""A quotation and "said" or a particle behind it, or the title of a work: the sentence goes on."""
DOTS_QUOTED = re.compile(r"(?:\.{3}|…)[」』”\"]$")
"""The end of a quotation such as the name of a menu, "Open...", which ends no sentence that goes on without a space."""
CLOSING = re.compile(r"([」』】》）]+)\s*")
"""Closing marks, which the splitter may leave at the beginning of the next sentence."""
SMALL_AFTER = re.compile(
    r"(?:(?<![^\W_])(?:[A-Za-z\u00aa-\u052f\u1e00-\u1fff]{1,3}|напр|napr|\d{1,4}|[IVXLC]+)\.|[.!?;…][»”“’\"'])$"
)
"""After this a small letter goes on with the sentence: an abbreviation ("vb."), an ordinal ("3."), a quotation."""
WITH_SHORT_WORDS = ("en", "vi")
"""Languages in which a word of three letters before a point is seldom an abbreviation."""
TITLE = re.compile(
    r"(?<![^\W_])(?:(?:M|Mme|Dl|Dna|Др|डॉ|प्रो|श्री|Jl|TS|TP|Βλ|Bkz|Zob)|(?i:d(?:er|ie|as|e[mns])|[ai]m|vom|zum|zur)\s\d{1,2})\.$"
)
"""Titles before a name, words for "see", and German ordinals: the sentence goes on behind them, but in English."""
LONGEST_LABEL = 40
NUMBER = r"\(?[A-Z]?\.?\d[\d.,\-–]*[a-z]?\)?"
STARTS_WITH_NUMBER = re.compile(NUMBER)
NUMBERED_END = re.compile(rf"(?<![^\W_])(?:{ENGLISH_NUMBERED}|{NUMBERED}|tabs?|pls?|s)\.\s?{NUMBER}\.$", re.IGNORECASE)
LABEL_ALONE = re.compile(
    r"\W{0,3}(?:(?:fig(?:ure|s)?|abb(?:ildung)?|tab(?:le|elle|leau)?|plate|pl|taf(?:el)?|afb(?:eelding)?|figura|ill(?:ustration)?|bild"
    r"|рис(?:унок)?|табл(?:ица)?|мал(?:юнок)?|фиг|сл(?:ика)?|slika|rys(?:unek)?|ryc(?:ina)?|obr|şek(?:il)?|resim|hình|εικ(?:όνα)?|σχ(?:ήμα)?"
    rf"|kuva|gambar|चित्र)(?!\w)\.?|[图図圖表]|그림|표)\s{{0,3}}(?:{NUMBER}|[IVXLC]{{1,7}}|[一二三四五六七八九十]{{1,3}})\W{{0,3}}",
    re.IGNORECASE,
)
"""A text that is the label of a figure or table and nothing else."""


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language; ``en`` if the text is too short or the language unclear.

    Plain English is recognised by its most common words, since loading the identifier takes half a second.
    """
    words = WORD.findall(text[:SAMPLE].lower())
    if len(words) < 5:
        return "en" if text.isascii() else _identify(text)
    if sum(word in ENGLISH for word in words) > 0.15 * len(words):
        return "en"
    return _identify(text)


def document_language(declared: str | None, text: str) -> str:
    """Return the ISO 639-1 code of a document's language, given its declared language (see ``language_code``).

    A declaration often comes from the page's template: if it says English and the text is in another language, or the
    reverse, and there is enough text, the text decides.
    """
    if declared is None:
        return detect_language(text)
    if len(text) < ENOUGH:
        return declared
    detected = detect_language(text)
    wrong = detected != declared and "en" in (detected, declared) and _identify(text) == detected
    return detected if wrong else declared


def _identify(text: str) -> str:
    """Return the ISO 639-1 language that a text is surely in; ``en`` if there is none.

    The identifier knows 40 more, such as Nigerian Pidgin, and takes titles and names in plain English for them.
    """
    probabilities = language_probabilities(text)
    best = max(probabilities, key=lambda language: probabilities[language])
    return best if probabilities[best] >= SURE else "en"


def language_probabilities(text: str) -> dict[str, float]:
    """Return the probability of each ISO 639-1 language, by the runs of letters; uncertain for a few words."""
    import py3langid

    scores = {str(code): float(score) for code, score in py3langid.rank(text[:SAMPLE]) if len(code) == 2}
    top = max(scores.values())
    total = sum(math.exp(score - top) for score in scores.values())
    return {language: math.exp(score - top) / total for language, score in scores.items()}


def language_code(declared: str) -> str | None:
    """Normalise a declared language (``pt-BR``, ``EN``, ``de_AT``) to its code; None if it is not valid."""
    match = re.match(r"\s*+([A-Za-z]{2,3})(?![A-Za-z])", declared)
    return match[1].lower() if match else None


def split_sentences(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Return the offsets (start, end) of the sentences of a block of text, without the white space around them.

    The splitter takes quadratic time on some texts (quotation marks that only open), so it gets ``WINDOW`` characters
    at a time, beginning with the sentence at the end of the previous window. A longer sentence is split.
    """
    start = 0
    while len(text) - start > WINDOW:
        space = text.rfind(" ", start + 1, start + WINDOW)
        window = text[start : space if space > 0 else start + WINDOW]
        spans = _split(window, language)
        # The last sentence may go on after the window, and begins the next one.
        cut_off = spans.pop()[0] if len(spans) > 1 else len(window)
        yield from ((start + a, start + b) for a, b in spans)
        start += cut_off
    yield from ((start + a, start + b) for a, b in _split(text[start:], language))


def _split(text: str, language: str) -> list[tuple[int, int]]:
    import sentencex

    text = text.replace("\u037e", ";")  # the Greek question mark, which the splitter does not know
    try:
        segments = sentencex.segment(language, text)
    except ValueError as error:
        raise SettingError(f"no sentence splitter for language {language!r}: give an ISO 639-1 code") from error
    spans = []
    end = 0
    for segment in segments:
        stripped = segment.strip()
        if stripped:
            # The splitter returns texts without their places.
            start = text.index(stripped, end)
            end = start + len(stripped)
            spans.append((start, end))
    return _joined(text, spans, language)


def is_label(text: str) -> bool:
    """Return whether a text is the label of a figure or table alone, such as "Fig. 268."."""
    return len(text) <= LONGEST_LABEL and LABEL_ALONE.fullmatch(text) is not None


def _joined(text: str, spans: list[tuple[int, int]], language: str) -> list[tuple[int, int]]:
    """Join what the splitter cut apart: sentences that go on, and the label of a figure with its sentence.

    A label goes with the sentence behind it in a text that begins with one ("Fig. 268. The fly."), else with the
    sentence before it, which it belongs to ("It has two wings. Fig. 268.").
    """
    # The splitter may have taken the number of the label for the next sentence.
    number_apart = len(spans) > 1 and ABBREVIATED.search(text[slice(*spans[0])])
    begins_with_label = bool(spans) and is_label(text[spans[0][0] : spans[1 if number_apart else 0][1]])
    joined: list[tuple[int, int]] = []
    for begin, end in spans:
        start = begin
        if joined and (closing := CLOSING.match(text, start, end)):
            joined[-1] = (joined[-1][0], closing.end(1))
            start = closing.end()
            if start == end:
                continue
        before, sentence = slice(*joined[-1]) if joined else slice(0), text[start:end]
        labelled = is_label(text[before] if begins_with_label else sentence)
        if text[before] and (labelled or _goes_on(text, before, start, sentence, language)):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _goes_on(text: str, before: slice, start: int, sentence: str, language: str) -> bool:
    """Return whether the sentence before goes on with the one at ``start``."""
    abbreviated = ABBREVIATED_ENGLISH if language == "en" else ABBREVIATED
    ending = text[before][-LONGEST_LABEL:]
    small, first = sentence[:1].islower(), sentence[0]
    return bool(
        (abbreviated.search(ending) and STARTS_WITH_NUMBER.match(sentence))  # "see Fig." "3"
        or (small and NUMBERED_END.search(ending))  # "in Fig. 3." "it is shown"
        or SAID.match(text, max(0, start - 2))  # "「…。」" "と言った"
        or (before.stop == start and DOTS_QUOTED.search(ending))  # "“Open...”" "를 누른다"
        or first in "，、；"
        or (first in "—–" and sentence.lstrip("—– ")[:1].islower())  # "What?" "— asked he"
        or (small and language not in WITH_SHORT_WORDS and SMALL_AFTER.search(ending))  # "vb." "gibi"
        or (language != "en" and TITLE.search(ending))  # "am 3." "Mai"
    )
