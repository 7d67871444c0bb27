"""Checks a promise with gold links: how many of the kept links are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from iconotext.plain_text import percent

if TYPE_CHECKING:
    from iconotext.types import LinkedDocument, Promise, Required


class RealisedPromise:
    """Counts, for images with gold links, the links that a promise kept, and the wrong ones among them.

    Args:
        claim: Links that did not pass it were dropped. Gold links cannot check ``document``; ``none`` dropped nothing.
    """

    def __init__(self, claim: Required) -> None:
        self.images = self.kept = self.wrong = 0
        self._claim = claim
        self._made: tuple[Promise, ...] = ()

    def see(self, linked: LinkedDocument) -> None:
        """Count a document."""
        self._made = linked.promises
        block = [sentence.block for sentence in linked.document.sentences]
        gold = set(linked.document.links or ())
        cited = {image for _, image in gold}
        right = {(block[sentence], image) for sentence, image in gold} if self._claim == "paragraph" else gold
        self.images += len(cited)
        for link in linked.links:
            if link.image in cited:
                place = block[link.sentence] if self._claim == "paragraph" else link.sentence
                self.kept += 1
                self.wrong += (place, link.image) not in right

    def finish(self, say: Callable[[str], None]) -> None:
        """Report the promised and the actual share."""
        from iconotext.report.promised import promise_lines

        for line in promise_lines(self._made):
            say(line)
        if self.kept and self._claim not in ("document", "none"):
            share, of = percent(self.wrong / self.kept, 1), f"{self.kept:,} of {self.images:,} pictures with gold links"
            say(f"by the gold links, {share} of the links that were kept lead to a wrong {self._claim} ({of})")
