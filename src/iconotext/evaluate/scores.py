"""The scores that a model, or the random baseline, gives to the pairs of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from iconotext.errors import CorpusError
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.evaluate.results import Scored
    from iconotext.links.settings import LinkSettings
    from iconotext.types import Document

NAMED = 3
"""Documents with images that cannot be seen that are named one by one."""


class UnseenImages:
    """Counts images that cannot be seen: their pairs have the score 0 and still count.

    Args:
        say: Is told of the first documents with such images, and at the end of all.
        looks_up: Whether images are looked up in a file, so that they need no file of their own.

    Attributes:
        documents: With such images.
        images: Such images.
        total: Images.
    """

    def __init__(self, say: Callable[[str], None], *, looks_up: bool = False) -> None:
        self.documents = self.images = self.total = 0
        self._say, self._looks_up = say, looks_up

    def see(self, document: Document) -> None:
        """Count one document, and tell of it if it is among the first with images that cannot be seen."""
        problems = [
            image.problem or "has no file"
            for image in document.images
            if image.problem or (image.file is None and not self._looks_up)
        ]
        self.total += len(document.images)
        self.images += len(problems)
        self.documents += bool(problems)
        if problems and self.documents <= NAMED:
            unseen = f"{len(problems)} of {len(document.images)} pictures cannot be seen and still count"
            self._say(f"document {document.id!r}: {unseen}: {problems[0]}")

    def finish(self) -> None:
        """Tell how many others there were."""
        if self.documents > NAMED:
            of = f"{self.images:,} of {counted(self.total, 'picture')} in all"
            self._say(f"and {counted(self.documents - NAMED, 'more document')}: {of}")


def score_documents(
    model: str,
    documents: Iterable[Document],
    linking: LinkSettings,
    *,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Scored]:
    """Scores of documents, one at a time. A document that cannot be linked ends it: figures without it would deceive.

    Args:
        model: As for ``load_encoder``; ``random`` for the baseline.
        documents: With gold links.
        seed: Of the baseline.
        say: Is told of images that cannot be seen, and what became of a promise.

    Raises:
        IconotextError: The model cannot be loaded or cannot score a document.
        CorpusError: The picture is the only evidence, and no image can be seen.
    """
    from iconotext.evaluate.promised import RealisedPromise
    from iconotext.evaluate.random_scores import random_scores
    from iconotext.evaluate.results import Scored
    from iconotext.pipeline import Linker
    from iconotext.read import Failure

    if model == "random":
        for document in documents:
            sizes = len(document.sentences), len(document.images)
            yield Scored(document.id, random_scores(document.id, *sizes, seed=seed), document.links)
        return
    linker = Linker.load(model, linking)
    realised = RealisedPromise(linking.promise)
    unseen = UnseenImages(say, looks_up=linker.encoder.image_source.looks_up)
    for linked in linker.link_all(documents):
        if isinstance(linked, Failure):
            raise linked.error
        unseen.see(linked.document)
        if linked.promises:
            realised.see(linked)
        yield Scored(linked.document.id, linked.similarity, linked.document.links)
    unseen.finish()
    realised.finish(say)
    if set(linking.evidence) == {"picture"} and unseen.images == unseen.total > 0:
        raise CorpusError(
            f"none of {unseen.total:,} pictures could be looked at, so there is nothing to measure: build the corpus "
            "with its pictures (images=...), or name a model that was trained on the features beside it"
        )
