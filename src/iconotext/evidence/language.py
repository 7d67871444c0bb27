"""Documents in a language that an encoder does not know: their texts are not compared, and the user gets a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.plain_text import language_name
from iconotext.read.sentences import ENOUGH, LATIN_LETTER, OTHER_LETTER

if TYPE_CHECKING:
    import re

    from iconotext.features.backbone import TextBackbone
    from iconotext.types import Document, FloatMatrix


def is_foreign(document: Document, backbone: TextBackbone) -> bool:
    """Return whether a document is in a language that an encoder does not know; False for very short texts."""
    if backbone.knows(document.language):
        return False
    return sum(len(sentence.text) for sentence in document.sentences) >= ENOUGH


def no_meaning(texts: Sequence[str]) -> FloatMatrix:
    """Return (n, 1) zeros in place of vectors from an encoder that does not know the language.

    All similarities are then 0.
    """
    return np.zeros((len(texts), 1), np.float32)


_SAMPLE = 2_000  # characters of a document that show its script


def main_script(document: Document) -> re.Pattern[str]:
    """Return the letters of a document's script: the Latin ones, or the others if they are a fourth of its letters.

    A Chinese or Korean character counts as one letter, and technical texts are full of Latin terms.
    """
    text = " ".join(sentence.text for sentence in document.sentences[:_SAMPLE])[:_SAMPLE]
    latin, other = len(LATIN_LETTER.findall(text)), len(OTHER_LETTER.findall(text))
    return OTHER_LETTER if 4 * other > latin + other else LATIN_LETTER


def in_script(text: str, script: re.Pattern[str]) -> bool:
    """Return whether a text has a letter of a script, or no letters at all."""
    return bool(script.search(text)) or not (LATIN_LETTER.search(text) or OTHER_LETTER.search(text))


def language_note(document: Document, *, picture: bool, caption: bool, layout: bool) -> str | None:
    """Return the message for the user about a foreign document; None if neither kind of evidence is lost.

    Args:
        picture: Whether pictures are evidence that is lost.
        caption: Whether captions are evidence that is lost.
        layout: Whether layout is evidence; it needs no language.
    """
    lost = [kind for kind, is_lost in (("pictures", picture), ("captions", caption)) if is_lost]
    if not lost:
        return None
    place = "layout, " if layout else ""
    language = language_name(document.language)
    return (
        f"the text is in {language}, which the model does not know: {' and '.join(lost)} were not compared with it by "
        f"meaning, and links come from {place}references, names, numbers and words written alike. An encoder "
        f"that knows {language} helps: the option text names one, and `iconotext models` lists some"
    )
