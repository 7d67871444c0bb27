"""Shows how links change when a model is trained further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from iconotext.encoders.load import load_encoder
from iconotext.evaluate.results import Scored, compare, evaluate
from iconotext.linker import Linker, LinkSettings
from iconotext.plain_text import percent, readable, shortened
from iconotext.report.embedded import embed
from iconotext.report.page import filled
from iconotext.system.files import write_text
from iconotext.train.prepare import documents_in
from iconotext.types import Document, Image, LinkedDocument

DOCUMENTS = 200
"""Largest number of documents that are linked by both models; documents that were not trained on come first."""

PAGE = "changes.html"
"""Name of the page in the folder of the model."""

SHOWN = 100
"""Largest number of changed links of each kind on the page."""

LONGER_SIDE, LONGEST = 480, 400
"""Longer side of a picture on the page, in pixels, and length of the longest sentence, in characters."""


class Choice(NamedTuple):
    """The best sentence of an image, and the confidence of the link, 0 to 1."""

    sentence: str
    confidence: float


class ChangedLink(NamedTuple):
    """An image that has another best sentence than before."""

    document: str
    image: Image
    evidence: Literal["picture", "all"]
    before: Choice
    after: Choice


class Gain(NamedTuple):
    """AUC of the gold links, found by the picture alone, in documents that were not trained on.

    Attributes:
        documents: Number of documents.
        before: AUC before training, 0 to 1.
        after: AUC after training.
        low: Lower end of the 95 % interval of the difference, over documents.
        high: Upper end of this interval.
    """

    documents: int
    before: float
    after: float
    low: float
    high: float


class Changes(NamedTuple):
    """The changes of links by training."""

    documents: int
    images: int
    links: tuple[ChangedLink, ...]
    gain: Gain | None

    def count(self, evidence: str) -> int:
        """Count the changed links with this evidence."""
        return sum(link.evidence == evidence for link in self.links)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for ``metrics.json``."""
        counts = {"picture": self.count("picture"), "all": self.count("all")}
        gain = None if self.gain is None else self.gain._asdict()
        return {"documents": self.documents, "images": self.images, **counts, "held_out": gain}


def changed_links(
    before: str, after: Path, corpora: Sequence[Path], held_out: AbstractSet[tuple[int, str]] = frozenset()
) -> Changes:
    """Link documents with two models, and compare the links.

    Args:
        before: A model, as for ``load_encoder``.
        after: Folder of the other model.
        corpora: Corpora of documents. Documents without layout and with a single image are skipped: there is only one
            way to link a picture with only its captions.
        held_out: Number of the corpus and id of each document that was not trained on.
    """
    encoders = [load_encoder(name) for name in (before, str(after))]
    best = LinkSettings(k=1, min_confidence=0, relations="none")
    alone, every = (
        [Linker(encoder, best.model_copy(update={"evidence": kinds})) for encoder in encoders]
        for kinds in (("picture",), best.evidence)
    )
    documents = images = 0
    links: list[ChangedLink] = []
    scored: tuple[list[Scored], list[Scored]] = ([], [])
    for number, document in islice(_with_a_choice(corpora, held_out), DOCUMENTS):
        documents += 1
        by_picture = [linker.link(document) for linker in alone]
        images += len(by_picture[0].links)
        links += _changed(by_picture, "picture")
        links += _changed([linker.link(document) for linker in every], "all")
        if (number, document.id) in held_out and document.links:
            for linked, matrices in zip(by_picture, scored, strict=True):
                matrices.append(Scored(f"{documents}: {document.id}", linked.similarity, document.links))
    return Changes(documents, images, tuple(links), _gain(*scored))


def write_changes(changes: Changes, folder: Path) -> None:
    """Write the page of changed links into the folder of a model."""
    kinds = [
        ("With all evidence", "all", "These links change when documents are linked as usual."),
        ("By the picture alone", "picture", "Captions, layout and references may decide otherwise."),
    ]
    write_text(
        folder / PAGE,
        filled(
            "iconotext.train",
            "changes.html",
            title=f"Links before and after training: {readable(folder.resolve().name)}",
            styles=["changes.css"],
            changes=changes,
            gain=None if changes.gain is None else describe_gain(changes.gain._asdict()),
            sections=[_section(changes, *kind) for kind in kinds],
        ),
        force=True,
    )


def describe_gain(gain: dict[str, Any]) -> str:
    """Describe the held-out AUC of both models, from the fields of a ``Gain``, with the difference and its interval."""
    difference, low, high = (100 * value for value in (gain["after"] - gain["before"], gain["low"], gain["high"]))
    of = "1 document that was" if gain["documents"] == 1 else f"{gain['documents']:,} documents that were"
    surely = "better" if low > 0 else "worse" if high < 0 else "which may be chance"
    return (
        f"AUC of the known links by the picture alone in {of} not trained on: "
        f"{100 * gain['before']:.1f} before, {100 * gain['after']:.1f} now "
        f"({difference:+.1f}, 95 % interval {low:+.1f} to {high:+.1f}: {surely})"
    )


def _with_a_choice(corpora: Sequence[Path], held_out: AbstractSet[tuple[int, str]]) -> Iterator[tuple[int, Document]]:
    """Yield documents that can be linked in several ways, with their corpora; those not trained on come first."""
    for first in (True, False) if held_out else (False,):
        for number, corpus in enumerate(corpora):
            for document in documents_in(corpus):
                choice = document.sentences and (document.has_layout or len(document.images) > 1)
                if choice and ((number, document.id) in held_out) == first:
                    yield number, document


def _changed(versions: Sequence[LinkedDocument], evidence: Literal["picture", "all"]) -> Iterator[ChangedLink]:
    """Yield the images with another best sentence than before; images that cannot be read have no sentence."""
    old, new = versions
    document, after = old.document, {link.image: link for link in new.links}
    for link in old.links:
        other = after[link.image]
        if other.sentence != link.sentence:
            before, now = (
                Choice(document.sentences[choice.sentence].text, float(choice.confidence)) for choice in (link, other)
            )
            yield ChangedLink(document.title or document.id, document.images[link.image], evidence, before, now)


def _gain(before: Sequence[Scored], after: Sequence[Scored]) -> Gain | None:
    old, new = evaluate(before), evaluate(after)
    if not new.defined:
        return None
    difference = compare(new, old)["auc"]
    was, now = (float(evaluation.means["auc"] or 0) for evaluation in (old, new))
    return Gain(len(new.defined), was, now, *difference.interval)


def _section(changes: Changes, title: str, evidence: str, about: str) -> dict[str, Any]:
    """Return the changed links of one kind for the template, most confident links of the new model first."""
    links = sorted(
        (link for link in changes.links if link.evidence == evidence),
        key=lambda link: (-link.after.confidence, -link.before.confidence),
    )
    first_links = links[:SHOWN]
    pictures = embed([link.image for link in first_links], range(len(first_links)), longer_side=LONGER_SIDE)
    rows = [
        {
            "picture": pictures[number],
            "document": readable(link.document),
            "source": readable("" if link.image.source.startswith("data:") else link.image.source),
            "choices": [
                (name, percent(choice.confidence), shortened(readable(choice.sentence), LONGEST))
                for name, choice in (("Before", link.before), ("Now", link.after))
            ],
        }
        for number, link in enumerate(first_links)
    ]
    return {"title": title, "about": about, "rows": rows, "count": len(links)}
