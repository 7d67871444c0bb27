"""Drafts of alternative texts, made from the author's own sentences about what a picture shows.

``make_drafts`` makes the drafts of a document, ``depicted`` finds the phrase in a sentence. Nothing is better than a
wrong text: only a sentence that states outright what a picture shows makes a draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from iconotext.check.language import same, sentences, without_label, words
from iconotext.errors import SettingError
from iconotext.evidence.labels import cited_labels
from iconotext.excerpts import Quote
from iconotext.plain_text import readable
from iconotext.report.context import Excerpts
from iconotext.system.strict_json import parse_json
from iconotext.types import Image, LinkedDocument

LONGEST = 125
"""Maximum length of a draft in characters; screen readers were made for about as many."""

SHORTEST = 2
"""Minimum length of a draft in words."""

MOST = 1_000
"""Longer sentences, in characters, are not searched."""


def _any(words: str) -> str:
    return f"(?:{'|'.join(word.replace('_', ' ') for word in words.split())})"


_SPACES = re.compile(r"\s+")
_PICTURE = _any(
    r"photo(?:graph|micrograph)? picture image fig(?:ure|\.)? illustration diagram drawing screen_?shot painting "
    r"sketch pic map chart graph plot schematic micrograph engraving woodcut cartoon poster scan "
    r"render(?:ing)? flow_?chart "
    r"timeline"
)
_PICTURE += "s?"
_CITED = r"(?:@[\w:.-]{1,80}|\[[^\[\]]{1,60}\]|(?:fig(?:ure|\.)?|image|photo|plate)s?\s+[\w.-]{1,12})"
_FIRST = _any(
    "for_(?:example|instance) here again finally first next then now also in_addition similarly thus so likewise"
)
_LEAD = rf"(?:{_FIRST},?\s+)?"
_WHERE = r"(?:\s+(?:just\s+)?(?:above|below|here|opposite|at left|at right|on the (?:left|right)))?"
_NEXT = r"(?:[\w’'-]{1,30}\s+)"
_SUBJECT = (
    rf"(?:(?:the|this|these|that|each|our|his|her|its|their|an?|one)\s+{_NEXT}{{0,5}}?{_PICTURE}"
    rf"(?:\s+(?:of|from|by|in|on|taken)\s+{_NEXT}{{0,6}}?[\w’'-]+|,\s+[^,]{{1,60}},)?{_WHERE}|{_CITED}|this)"
)
_SHOWS = r"(?:(?:also|clearly|simply|schematically)\s+)?(?:show|depict|illustrate|display|portray|picture)s?"
_SEEN = _any("shown seen depicted illustrated pictured displayed portrayed sketched drawn plotted")
_AT = (
    r"(?:(?:just\s+)?(?:below|above|here)\b|(?:at|on|to) the (?:left|right)\b|(?:schematically\s+)?(?:in|on|by)\s+"
    rf"(?:(?:the|this|these)\s+)?{_NEXT}{{0,3}}?(?:{_PICTURE}|{_CITED})|in\s*[.,;]?\s*$)"
)

_SAYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LEAD}{_SUBJECT}\s+{_SHOWS}\s+(?P<what>.+)",
        r"showing\s+(?P<what>.+)",
        rf"{_LEAD}(?:here|below|above|this|these)(?:\s+is|\s+are|[’']s)\s+(?:(?:an?|the|some|one of the|my|our)\s+)?"
        rf"{_NEXT}{{0,3}}?{_PICTURE}{_WHERE}\s+(?:of|showing|that shows|which shows)\s+(?P<what>.+)",
        rf"{_LEAD}(?:in|on)\s+{_SUBJECT},?\s+(?:you|we|one)\s+(?:(?:can|will)\s+)?see\s+(?P<what>.+)",
        rf"{_LEAD}(?P<what>(?!as\b)[^,;:]{{3,140}}?)\s+(?:is|are|was|were|can be)\s+(?:(?:also|clearly)\s+)?"
        rf"{_SEEN}\s+{_AT}",
    )
)
_PART = re.compile(
    r"\b(?:left|right|middle|top|bottom|upper|lower|first|second|third|last|other|two|three|panels?|insets?|previous)\b"
    r"|\d+\s?\(?[a-h]\)?(?!\w)|\([a-h]\)",
    re.IGNORECASE,
)
"""Words before the phrase that show that it is about a part of the picture."""

_NAMES = r"[A-Z][\w’'.-]{1,40}(?:\s+(?:and|&|et al\.?|[A-Z][\w’'.-]{1,40})){0,5},?\s+"
_REFERENCE = re.compile(
    rf"\s?\((?:(?:see|cf\.?|also|compare)\s+){{0,3}}(?:{_CITED}|(?:the\s+)?{_PICTURE}{_WHERE}|above|below|left|right|top"
    rf"|bottom|{_SEEN}[^()]{{0,40}})[^()]{{0,40}}\)"
    r"|\s?\[(?:\d[\d,;\s–-]{0,30}|\^?[\w-]{1,30}|@[^\[\]]{1,80})\]"
    rf"|\s?\((?:{_NAMES})?(?:1[5-9]|20)\d\d[a-z]?\)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    rf"[\s,]{{1,3}}(?:(?:as|that (?:is|are)|which (?:is|are))\s+)?(?:{_SEEN}\s+)?(?:(?:in|on|by)\s+(?:{_CITED}"
    rf"|(?:the\s+)?(?:(?:following|next|above|below)\s+)?{_PICTURE}{_WHERE})|below|above|here)\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?:[;:–—]\s|\s[-–—]\s|,?\s(?:because|although|though|whereas|so that|since|unless)\b|,\s?"
    rf"{_any('which who whose where when while but so as if after before thus hence thereby making giving allowing')}\b"
    r"|,?\sand\s(?:also\s)?"
    rf"{_any('this it we you they he she i is are was were has have can how what that will may')}\b).*",
    re.IGNORECASE | re.DOTALL,
)
_IDEA = re.compile(
    r"(?:(?:the|an?)\s(?:[\w-]{1,30}\s)?(?:concept|idea|notion|principle|phenomenon|example)s?\s(?:of|called)\s)"
    r"|examples\sof\s",
    re.IGNORECASE,
)
"""Something invisible, before something visible."""

_ASIDE = re.compile(r"\s\([^()]*\)")
_LATER = re.compile(r"(?:,\s(?!.*,?\s(?:and|or)\s)|\s(?:that|which|who|when|while|in which|for which|as|to show)\s)")
"""Where a phrase that is too long may be cut."""

_VAGUE = _any(
    "same former latter above following next previous ways? idea things? fact point results? differences? situation "
    "importance problem answer outcome effects? others? rest first second last final_result"
)
_NO_PHRASE = re.compile(
    _any(
        "that how what whether why where when which who it them him us you me this these those such one something "
        "nothing there here up in on at to as by from for with and or but i we he she they his her its "
        "their my your our if "
        "not no all_of_(?:this|these|them) both another other some_(?:of|other) more most many_of much each_of none "
        "several_of any every only examples?_of_(?:this|these|that|such) "
        "an?_(?:lot|few|way|similar|typical|bit|couple|example|better)"
    )[:-1]
    + rf"|the {_VAGUE})\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:this|these|those|such|it|they|them|he|she|him|i|we|us|you|my|our|your|above|below|aforementioned|same|latter|former|previous(?:ly)?"
    r"|described|discussed|mentioned|resulting|corresponding|analogous|similar|more|further|stages|respective(?:ly)?|their|both"
    r"|closer look|greater detail|possible effects)\b",
    re.IGNORECASE,
)
"""Words that refer to earlier text, which listeners of the alternative text alone do not know."""

_OPEN_END = re.compile(r"\b(?:of|in|on|at|to|for|from|with|by|and|or|as|the|an?|shown|seen)$", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|will|would|can|could|should|must|may|might|has|have|had|do|does|did)\b", re.IGNORECASE
)
_EMPTY = frozenset(
    "a an the of in on at to for from with by and or as its their some several two three many various new".split()
)
_WORD = re.compile(r"[\w’'-]+")
_ODD = re.compile(r"https?:|www\.|[$\\{}<>|=]|@\w|\b\w+\.(?:png|jpe?g|svg|md|html)\b|[\[\]]")


def depicted(sentence: str) -> str | None:
    """Return the content of a picture according to a sentence, shortened at a clause and without references.

    Returns:
        A noun phrase of at most ``LONGEST`` characters, which begins with a capital letter; None if the sentence does
        not state the content, is about a part of the picture, or refers to earlier text.
    """
    text = _SPACES.sub(" ", sentence).strip()
    whole = len(text) <= MOST and not text.startswith(("-", "–", ",", ";", ")"))
    for pattern in _SAYS if whole else ():
        match = pattern.match(text)
        if match is not None:
            before, after = text[: match.start("what")], text[match.end("what") :]
            if _PART.search(before) or _PART.search(" ".join(after.split()[:9])):
                return None
            return _phrase(match["what"])
    return None


def _phrase(noun_phrase: str) -> str | None:
    """Return the noun phrase if it can stand alone; else None."""
    text = _REFERENCE.sub("", noun_phrase)
    text = _CLAUSE.sub("", text)
    text = re.split(r"(?<=\w\w)[.!?](?:\s|$)", text, maxsplit=1)[0]
    for _ in range(3):
        text = _TAIL.sub("", text.strip(" ,;:.-–—"))
    text = _balanced(text.strip(" ,;:.-–—"))
    text = _IDEA.sub("", text, count=1) if _IDEA.match(text) else text
    if len(text) > LONGEST:
        text = _ASIDE.sub("", text)
    if len(text) > LONGEST:
        ends = [cut.start() for cut in _LATER.finditer(text) if cut.start() <= LONGEST]
        text = text[: ends[-1]].rstrip(" ,") if ends else ""
    wrong = (_OPEN_END.search, _NO_PHRASE.match, _BACK.search, _ODD.search)
    if not text or any(found(text) for found in wrong) or any(cited_labels(text)):
        return None
    telling = [word for word in _WORD.findall(text.lower()) if word not in _EMPTY]
    if len(telling) < SHORTEST or len(text) > LONGEST or _VERB.search(text):
        return None
    return text[0].upper() + text[1:]


def _balanced(text: str) -> str:
    """Return the text without a parenthesis or quotation that was cut off."""
    for opening, closing in ("()", "“”"):
        if text.count(opening) != text.count(closing):
            text = text.partition(opening)[0] if opening in text else text.replace(closing, "")
    return (text.replace('"', "") if text.count('"') % 2 else text).strip(" ,;:.-–—")


LANGUAGE = "en"
"""The only language for which drafts are made."""

CONFIDENT = 0.5
"""Smallest confidence of the link between picture and sentence.

Wording, link and relation must agree: with the relation alone, most drafts were about the subject of the picture. Of
100 drafts, readers accepted 58 as they were and 21 with a change.
"""

VISIBLE = 0.2
"""Smallest probability of the relation Visible."""

MAX_TEXT = 2_000
"""Maximum length of a text that somebody wrote instead of a draft."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal for a picture's alternative text, to be accepted, changed or dropped.

    Attributes:
        id: Unique within a run: the document and the number of the picture, ``article:3``.
        sha256: Of the file, so that the draft is not written into another version of it; None if unknown.
        source: The picture's address, as in the document.
        draft: True until somebody has reviewed it.
        confidence: Probability, 0 to 1, that the sentence belongs to the picture.
        visible: Probability that the sentence says what the picture shows; 0 for a draft by a model.
        sentences: The sentences from which it is made, or that a model was given, with their places; the most probable
            ones first.
        caption: The caption that a model was given.
        model: The vision model that wrote it; None if it is made from the author's sentence.
    """

    id: str
    path: str
    sha256: str | None
    image: int
    source: str
    text: str
    draft: bool
    confidence: float
    visible: float
    sentences: tuple[Quote, ...]
    caption: str | None = None
    model: str | None = None


def make_drafts(linked: LinkedDocument, sha256: str | None = None) -> list[Draft]:
    """Make drafts for the pictures of a document without alternative text, in order.

    Most pictures get none: a draft needs a sentence that states what a picture shows (``depicted``), and is made only
    for the picture to which the sentence belongs most. Drafts that repeat a caption, a sentence or another alternative
    text are dropped.

    Args:
        linked: The document, with links and their relations. There are drafts only for English documents.
        sha256: Of its file; see ``Draft``.
    """
    document = linked.document
    if document.language != LANGUAGE:
        return []
    candidates: dict[int, tuple[float, int, str, float]] = {}
    used: set[int] = set()
    texts = {sentence: depicted(document.sentences[sentence].text) for sentence in {k.sentence for k in linked.links}}
    for link in sorted(linked.links, key=lambda link: (-link.confidence, link.image, link.sentence)):
        visible = (link.relations or {}).get("Visible", 0.0)
        text = texts[link.sentence]
        if text is None or link.sentence in used:
            continue
        used.add(link.sentence)  # even if its picture needs no draft
        wanted = is_without_alt(document.images[link.image]) and link.image not in candidates
        if wanted and link.confidence >= CONFIDENT and visible >= VISIBLE:
            candidates[link.image] = (link.confidence, link.sentence, text, visible)
    if not candidates:
        return []
    others = [words(text) for text in present_texts(linked)]
    excerpts = Excerpts(linked)
    drafts = []
    for image, (confidence, sentence, text, visible) in sorted(candidates.items()):
        own = words(text)
        if any(same(own, other) for other in others):
            continue
        others.append(own)
        source = document.images[image].source
        quote = excerpts.quote(sentence, image)
        quoted = Quote(**{each.name: getattr(quote, each.name) for each in fields(Quote)})
        place = document.place or document.id
        name = f"{document.id}:{image}"
        drafts.append(Draft(name, place, sha256, image, source, text, True, confidence, visible, (quoted,)))
    return drafts


def is_without_alt(image: Image) -> bool:
    """Return whether a picture can be seen, is not decoration, and has no alternative text."""
    return image.problem is None and not image.decorative and not (image.alt or "").strip()


def present_texts(linked: LinkedDocument, *, alts: bool = True) -> Iterator[str]:
    """Yield the texts that an alternative text must not repeat: captions, sentences, and ``alts`` of other pictures."""
    for image in linked.document.images:
        for text in (image.alt if alts else None, image.caption, without_label(image.caption or "")):
            yield from sentences([text] if text else [])
    yield from (sentence.text for sentence in linked.document.sentences)


def read_drafts(path: Path) -> list[Draft]:
    """Read drafts that were printed as JSON, and may have been edited.

    Raises:
        SettingError: The file is not such JSON; the message says where.
    """
    try:
        rows = parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SettingError(f"{path}: {error}: give what the drafts were printed as") from error
    if not isinstance(rows, list):
        raise SettingError(f"{path}: not a list of drafts")
    return [_draft(row, f"{path}, draft {number}") for number, row in enumerate(rows, 1)]


_TYPES: dict[str, type] = {"id": str, "path": str, "sha256": str, "image": int, "source": str, "text": str}


def _draft(row: Any, where: str) -> Draft:
    if not isinstance(row, dict):
        raise SettingError(f"{where}: not an object with the fields of a draft")
    for name, kind in _TYPES.items():
        if not isinstance(row.get(name), kind) or isinstance(row.get(name), bool):
            raise SettingError(f"{where}: {name!r} is missing, or of a wrong kind")
    text = " ".join(readable(row["text"]).split())
    if not text or len(text) > MAX_TEXT:
        raise SettingError(f"{where}: its text is empty, or longer than {MAX_TEXT:,} characters: take the draft out")
    values = {name: row[name] for name in _TYPES}
    return Draft(**(values | {"text": text}), draft=False, confidence=0.0, visible=0.0, sentences=())


def chosen(drafts: Sequence[Draft], ids: Iterable[str]) -> list[Draft]:
    """Return the drafts with these ids, all if there are no ids; ``SettingError`` for an unknown id."""
    wanted = list(ids)
    unknown = sorted(set(wanted) - {draft.id for draft in drafts})
    if unknown:
        raise SettingError(
            f"no draft is called {', '.join(unknown)}; there are {', '.join(d.id for d in drafts) or 'none'}"
        )
    return [draft for draft in drafts if not wanted or draft.id in wanted]


def row(draft: Draft) -> dict[str, Any]:
    """Return a draft as JSON data."""
    return asdict(draft) | {"confidence": round(draft.confidence, 4), "visible": round(draft.visible, 4)}
