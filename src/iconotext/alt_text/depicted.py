"""Extracts what a sentence says that a picture shows: 'The photo below shows a red barn' gives 'A red barn'.

It is for English, and for few kinds of sentences; of those it takes only phrases that can stand alone. No result is
better than a wrong one.
"""

from __future__ import annotations

import re

from iconotext.links.labels import cited_labels

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
    """What the sentence says that a picture shows, shortened at a clause and without references.

    Returns:
        A noun phrase of at most ``LONGEST`` characters, which begins with a capital letter; None if the sentence says
        nothing of this kind, is about a part of the picture, or refers to earlier text.
    """
    text = _SPACES.sub(" ", sentence).strip()
    whole = len(text) <= MOST and not text.startswith(("-", "–", ",", ";", ")"))
    for pattern in _SAYS if whole else ():
        found = pattern.match(text)
        if found is not None:
            before, after = text[: found.start("what")], text[found.end("what") :]
            if _PART.search(before) or _PART.search(_first_words(after)):
                return None
            return _phrase(found["what"])
    return None


def _first_words(text: str) -> str:
    return " ".join(text.split()[:9])


def _phrase(what: str) -> str | None:
    """The noun phrase, if it can stand alone; else None."""
    text = _REFERENCE.sub("", what)
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
    """The text without a parenthesis or quotation that was cut off."""
    for opening, closing in ("()", "“”"):
        if text.count(opening) != text.count(closing):
            text = text.partition(opening)[0] if opening in text else text.replace(closing, "")
    return (text.replace('"', "") if text.count('"') % 2 else text).strip(" ,;:.-–—")
