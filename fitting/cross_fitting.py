"""Weights that have not seen the class of documents that they link: OpenStax, old books, modern guides.

``cross_fitted`` fits them, and ``link_sources`` links documents by them and by the habits of each collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitting.cited_documents import Cited, variants
from fitting.evidence import Looking, captions, few
from fitting.fit_evidence import common_habit, example, fit_coefficients
from fitting.fit_matcher import fit_matcher
from iconotext.corpus.store import read_corpus
from iconotext.decide.choose import choose_links
from iconotext.decide.combine import Coefficients, places_by_evidence, weigh_evidence
from iconotext.decide.settings import LinkSettings
from iconotext.evidence.caption import PROBE, Encode, Matcher, Reading
from iconotext.evidence.gather import gather_evidence
from iconotext.evidence.habit import PlaceEvidence, infer_habit
from iconotext.features import FeatureCache, cached_text, load_text_backbone
from iconotext.types import Document, Evidence, LinkedDocument

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


@dataclass(frozen=True, eq=False)
class Source:
    """A document of a collection; ``cited`` has its vectors."""

    group: str
    collection: str
    cited: Cited


def text_encoder() -> Encode:
    """What encodes texts, each once, out of the cache where they are there."""
    backbone = cached_text(load_text_backbone(), FeatureCache())
    known: dict[str, FloatMatrix] = {}

    def encode(texts: Sequence[str]) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, backbone.encode(new), strict=True) if new else ())
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, backbone.dim), np.float32)

    return encode


def sources(path: Path, encode: Encode, looking: Looking) -> list[Source]:
    """The documents of a corpus, without images that cannot be read."""
    found = []
    for document in read_corpus(path):
        good = [j for j, image in enumerate(document.images) if image.problem is None]
        links = tuple((i, good.index(j)) for i, j in document.links or () if j in good)
        if not good:
            continue
        own = replace(document, images=tuple(document.images[j] for j in good), links=links)
        collection = document.meta.get("repository") or document.meta.get("book") or document.id.split("/")[0]
        vectors = encode([sentence.text for sentence in own.sentences])
        seen = looking.rows([image.file or b"" for image in own.images])
        cited = Cited(own, vectors, seen, str(collection), looking.compare)
        found.append(Source(group(own), str(collection), cited))
    return found


def group(document: Document) -> str:
    """One of three classes of documents."""
    made = document.meta.get("generator")
    return "openstax" if made is None else "old books" if made == "gutenberg" else "modern guides"


class Learned(NamedTuple):
    """What was fitted without a class of documents."""

    coefficients: dict[str, Coefficients]
    matcher: Matcher
    common: NDArray[np.float64]


def cross_fitted(seen: Sequence[Source], encode: Encode, *, pictures: bool = True) -> dict[str, Learned]:
    """Class to what was fitted without it; weights of pictures only if there are any."""
    found = {}
    for left in sorted({source.group for source in seen}):
        others = [source.cited for source in seen if source.group != left]
        matcher = fit_matcher(captions(others, encode), encode([PROBE])[0])
        examples = [example(c, encode, weight=w, matcher=matcher) for c, w in variants(few(others), seed=0)]
        common = common_habit(examples)
        found[left] = Learned(fit_coefficients(examples, common, pictures=pictures), matcher, common)
    return found


def link_sources(
    found: Sequence[Source],
    encode: Encode,
    learned: dict[str, Learned],
    evidence: tuple[Evidence, ...],
) -> list[tuple[Source, LinkedDocument]]:
    """The documents, linked as the program does, by the habits of each collection."""
    places: dict[str, list[tuple[str, PlaceEvidence]]] = {}
    for source in found:
        own, cited = learned[source.group], source.cited
        gathered = gather_evidence(
            [cited.document],
            [cited.similarity if "picture" in evidence else None],
            [Reading(encode, cited.sentence_vectors, own.matcher)],
            evidence=evidence,
        )
        (place,) = places_by_evidence(gathered, evidence=evidence, coefficients=own.coefficients)
        if place is not None:
            places.setdefault(cited.collection, []).append((cited.document.id, place))
    common = {source.cited.collection: learned[source.group].common for source in found}
    habits = {name: infer_habit(some, common[name]) for name, some in places.items()}
    return [
        (
            source,
            choose_links(
                source.cited.document,
                weigh_evidence(
                    source.cited.document,
                    source.cited.similarity if "picture" in evidence else None,
                    Reading(encode, source.cited.sentence_vectors, learned[source.group].matcher),
                    evidence=evidence,
                    coefficients=learned[source.group].coefficients,
                    habit=habits.get(source.cited.collection),
                ),
                LinkSettings(),
            ),
        )
        for source in found
    ]
