"""Drafts of alternative texts by a vision model: its replies, checked by the rules for alternative texts.

``captioned_drafts`` asks about the pictures of documents, and ``checked`` judges the replies for one document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from iconotext.alt_text.captioner import Captioner, NoReply, Reply
from iconotext.alt_text.drafts import Draft, is_without_alt, present_texts
from iconotext.alt_text.prompt import CANNOT_TELL, Prompt, prompts
from iconotext.check.alt_texts import IMAGE_OF
from iconotext.check.page import Page
from iconotext.check.picture import Picture
from iconotext.check.places import Place
from iconotext.check.rules import CheckSettings, apply_rules
from iconotext.errors import RuleError
from iconotext.excerpts import Quote
from iconotext.plain_text import readable
from iconotext.types import Image, LinkedDocument

_LABEL = re.compile(r"(?:the )?alt(?:ernative)?[ -]?text\s*:\s*", re.IGNORECASE)
_AROUND = "\"'“”„«»‘’`*_ "
MAX_DRAFT = 300  # characters
POOR = ("alt-file-name", "alt-placeholder")
"""Rules that an alternative text breaks which is worth no more than none."""

_MARKUP = re.compile(r"https?://|www\.|<[a-z/!]|\]\(|```|^\s*[{\[]", re.IGNORECASE)

_REFUSAL = re.compile(
    r"(?:i'?m |i am )?(?:very |so |really )?sorry,? (?:but )?i\b|i(?:'m| am) (?:unable|not able) to\b|as an ai\b"
    r"|(?:unfortunately,? )?i (?:can't|cannot|can not|won't) \w+|es tut mir leid\b"
    r"|(?:je suis )?désolée?, (?:mais )?je\b|lo siento, (?:pero )?no\b"
    r"|mi dispiace, (?:ma )?non\b|desculpe, (?:mas )?não\b",
    re.IGNORECASE,
)
"""The beginnings of replies in which a model says in words that it does not describe the picture."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A picture that gets no draft.

    Attributes:
        id: Of the draft that it would be.
        source: The picture's address, as in the document.
        reason: What is wrong with the reply, or why there is none.
        text: The reply; None if there is none.
    """

    id: str
    source: str
    reason: str
    text: str | None = None


def captioned_drafts(
    documents: Iterable[tuple[LinkedDocument, str | None]],
    captioner: Captioner,
    *,
    poor: bool = False,
    after_each: Callable[[], object] = lambda: None,
) -> Iterator[Draft | Refused]:
    """Ask a vision model about the pictures without alternative text, and check its replies, document by document.

    Args:
        documents: Linked documents, and the SHA-256 of their files; see ``Draft``. Taken a little ahead.
        poor: Whether to ask, too, about pictures whose alternative text is a file name or says nothing.
        after_each: Called after each reply.

    Raises:
        CaptionerError: See ``Captioner.ask_all``.
    """

    def items() -> Iterator[Prompt | tuple[LinkedDocument, str | None]]:
        for linked, sha256 in documents:
            images = linked.document.images
            numbers = {number for number, image in enumerate(images) if is_without_alt(image)}
            if poor:
                poor_texts = _broken(_page(images, {}, (), linked.document.language), POOR)
                numbers |= {n for n in poor_texts if images[n].problem is None and not images[n].decorative}
            yield from prompts(linked, only=numbers)
            yield linked, sha256  # behind the prompts of the document, so that all its replies are there

    replies: list[tuple[Prompt, Reply | NoReply]] = []
    for item, reply in captioner.ask_all(items()):
        if isinstance(item, Prompt):
            assert reply is not None
            replies.append((item, reply))
            after_each()
        else:
            yield from checked(*item, replies, captioner.settings.model or "")
            replies = []


def checked(
    linked: LinkedDocument, sha256: str | None, replies: Iterable[tuple[Prompt, Reply | NoReply]], model: str
) -> Iterator[Draft | Refused]:
    """Yield a draft for each reply that breaks no rule, and what is wrong with the others, in order.

    Besides the rules for alternative texts, a draft must not repeat any caption or sentence of the document, nor have
    addresses or markup in it.
    """
    replies = list(replies)
    by_image = {prompt.context.image: reply for prompt, reply in replies if isinstance(reply, Reply)}
    document = linked.document
    texts = judged(by_image, document.images, tuple(present_texts(linked)), document.language)
    place = document.place or document.id
    for prompt, reply in replies:
        about = prompt.context
        if isinstance(reply, NoReply):
            yield Refused(prompt.id, about.source, reply.reason)
            continue
        text, reason = texts[about.image]
        if reason is not None:
            yield Refused(prompt.id, about.source, reason, text)
            continue
        surest = sorted(about.sentences, key=lambda s: (-(s.confidence or 0.0), s.sentence))
        quotes = tuple(Quote(**{f.name: getattr(s, f.name) for f in fields(Quote)}) for s in surest)
        yield Draft(
            prompt.id, place, sha256, about.image, about.source, text, True,
            max((s.confidence or 0.0 for s in surest), default=0.0), quotes, caption=about.caption, model=model,
        )  # fmt: skip


def judged(
    replies: Mapping[int, Reply], images: Sequence[Image], beside: Sequence[str], language: str
) -> dict[int, tuple[str, str | None]]:
    """Return image number to the text of its reply, and the reason why that is no draft; None if it is one.

    Args:
        images: Of the document, with their captions and alternative texts.
        beside: Captions and sentences that a draft must not repeat, nearly either. Alternative texts of other pictures
            need only differ: charts of two years may.
    """
    texts = {number: cleaned(reply.text, language) for number, reply in replies.items()}
    broken = _broken(_page(images, texts, tuple(dict.fromkeys(beside)), language), ("alt",))
    return {number: (text, _useless(text, replies[number]) or broken.get(number)) for number, text in texts.items()}


def cleaned(reply: str, language: str) -> str:
    """Return a reply on one line, without what models put around a text: quotation marks, "Alt text:", "Image of"."""
    text = " ".join(readable(reply).split()).strip(_AROUND)
    text = _LABEL.sub("", text, count=1).strip(_AROUND) if _LABEL.match(text) else text
    phrase = IMAGE_OF.match(text) if language == "en" else None  # elsewhere, the case of the noun would be wrong
    if phrase and text[phrase.end() :].strip():
        text = text[phrase.end() :].strip()
        text = text[0].upper() + text[1:]
    return text


def _useless(text: str, reply: Reply) -> str | None:
    if reply.refused or _REFUSAL.match(text.replace("’", "'")):
        return "the model refuses"
    if not reply.complete:
        return "it was cut off; answer_tokens=... allows more"
    if not text:
        return "the model said nothing"
    if text.strip(".") == CANNOT_TELL:
        return "the model cannot tell what the picture shows"
    if _MARKUP.search(text):
        return "there is an address or markup in it"
    return None


def _page(images: Sequence[Image], texts: Mapping[int, str], beside: tuple[str, ...], language: str) -> Page:
    """Return the pictures of a document as the rules see them, some with other texts than theirs."""
    pictures = [
        Picture(
            place=Place(""),
            index=number,
            sources=(image.source,),
            alt=texts.get(number, image.alt),
            caption=image.caption,
            beside=beside if number in texts else (),  # the others are not judged
            language=language,
        )
        for number, image in enumerate(images)
    ]
    pictures.sort(key=lambda picture: picture.index in texts)  # of two equal texts, the later one breaks a rule
    return Page("", "html", pictures)


def _broken(page: Page, rules: tuple[str, ...]) -> dict[int, str]:
    """Return image number to the first of these rules that its text breaks, in words."""
    broken: dict[int, str] = {}
    applied = apply_rules(page, CheckSettings(rules=rules, max_length=MAX_DRAFT))
    for name, reason in applied.failed.items():  # without its verdict, nothing is a draft
        raise RuleError(f"the rule {name} failed ({reason})")
    for picture, _, message in applied.broken:
        if isinstance(picture, Picture):
            broken.setdefault(picture.index, message)
    return broken
