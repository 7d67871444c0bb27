"""Control of false discoveries: at most a given share of the links is wrong, over all documents linked together.

Users know it as promises. ``control_among_documents`` tests the links of documents, ``control_false_discoveries`` the
scores of images, and ``thresholds_of`` scores that come in batches.

Three claims about an image's best link, from the weakest to the strongest, are each tested once for every image:

- *document*, the image belongs to this document: target-decoy competition. Each image competes with its decoy for the
  sentences of the document, and the decoys that win tell how many images win by chance (``competition``).
- *paragraph* and *sentence*, the link leads to the right one: conformal selection (Jin and Candès 2023, arXiv
  2210.01408) with calibration figures whose right sentences are known (``calibration``), and Benjamini-Hochberg.

The method bounds the false discovery rate: the expected share of wrong claims among those that pass. The bound holds if
foreign images are like decoys, and if images are like the calibration figures of their kind of at least one class.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.decide.calibration import Calibration, kind_of
from iconotext.decide.target_decoy import Competition, DecoyPool, DecoyThresholds
from iconotext.errors import SettingError
from iconotext.types import CLAIMS, Claim, Document, Evidence, LinkedDocument, Promise, Required

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.decide.calibration import Figure
    from iconotext.decide.settings import LinkSettings
    from iconotext.read import Failure


class Candidate(NamedTuple):
    """An image for which claims are tested.

    Attributes:
        kind: From ``calibration.kind_of``.
        sentence: Confidence of its best link.
        paragraph: ``Link.paragraph`` of its best link.
        own: Score of its best link in competition with decoys.
        decoy: Score of its decoy's best link; None without a decoy.
        collection: Of both image and decoy; None if the decoy is from another one.
    """

    document: str
    image: int
    kind: str
    sentence: float
    paragraph: float | None
    own: float = 0.0
    decoy: float | None = None
    collection: str | None = None


@dataclass(frozen=True)
class Controlled:
    """The promises of a run.

    Attributes:
        made: One for each claim, with ``images`` left empty.
        passed: Claim to document id to the numbers of the document's images that passed.
        required: Links whose image did not pass this claim are dropped; with ``none`` all stay.
    """

    made: tuple[Promise, ...]
    passed: Mapping[Claim, Mapping[str, frozenset[int]]]
    required: Required

    def keep(self, linked: LinkedDocument) -> LinkedDocument:
        """Drop the links that did not pass ``required``, and attach the promises to the document."""
        here = {claim: self.passed[claim].get(linked.document.id, frozenset()) for claim in CLAIMS}
        links = linked.links
        if self.required != "none":
            links = tuple(link for link in links if link.image in here[self.required])
        return replace(linked, links=links, promises=tuple(replace(p, images=here[p.claim]) for p in self.made))

    def keep_all(self, linked: Iterable[LinkedDocument | Failure]) -> Iterator[LinkedDocument | Failure]:
        """Apply ``keep`` to each linked document; failures pass through."""
        return (self.keep(each) if isinstance(each, LinkedDocument) else each for each in linked)

    @property
    def digest(self) -> str:
        """A hash of the promises, which is equal for equal promises.

        A page depends on the promises of its run, and not only on its document.
        """
        passed = [sorted((name, sorted(images)) for name, images in self.passed[claim].items()) for claim in CLAIMS]
        content = repr((self.made, passed, self.required))
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Thresholds:
    """The conditions under which an image of a run passes each claim.

    Attributes:
        made: See ``Controlled``.
        thresholds: For the claim ``document``: the smallest score in competition with decoys.
        least: For each other claim, kind of image to smallest probability, for the kinds that can be tested.
        required: See ``Controlled``.
    """

    made: tuple[Promise, ...]
    thresholds: DecoyThresholds
    least: Mapping[Claim, Mapping[str, float]]
    required: Required

    def promises(self, tested: Sequence[Candidate]) -> Controlled:
        """Return the promises, with ``passed`` for these images, which may be a part of the run."""
        rivals = [each for each in tested if each.decoy is not None]
        passed: dict[Claim, dict[str, frozenset[int]]]
        passed = {"document": _by_document(rivals, self.thresholds.passed(*_rivals(rivals)))}
        for claim, least in self.least.items():
            good = (score is not None and score >= least.get(e.kind, math.inf) for e, score in _scored(tested, claim))
            passed[claim] = _by_document(tested, good)
        return Controlled(self.made, passed, self.required)


def control_false_discoveries(
    tested: Sequence[Candidate], calibration: Calibration, max_false: float, required: Required = "sentence"
) -> Controlled:
    """Test every claim for every image.

    Args:
        max_false: Largest expected share of wrong claims, above 0 and below 1.
    """
    return thresholds_of([tested], calibration, max_false, required).promises(tested)


def thresholds_of(
    batches: Iterable[Sequence[Candidate]], calibration: Calibration, max_false: float, required: Required = "sentence"
) -> Thresholds:
    """Return the rule for a run whose images come in batches; arguments as in ``control_false_discoveries``.

    Memory does not grow with the number of images: there are at most as many different p values as calibration figures,
    and the scores of images and decoys go into a temporary file.
    """
    usable = _usable(calibration, max_false)
    p_values: dict[Claim, Counter[float]] = {"paragraph": Counter(), "sentence": Counter()}
    untested = {claim: Counter[str]() for claim in p_values}
    kinds = {claim: set[str]() for claim in p_values}
    images = 0
    with Competition() as competition:
        for tested in batches:
            images += len(tested)
            competition.add(*_rivals([each for each in tested if each.decoy is not None]))
            for claim, counted in p_values.items():
                found = _p_values(tested, usable, claim)
                values, numbers = np.unique(found[~np.isnan(found)], return_counts=True)
                counted.update(dict(zip(values.tolist(), numbers.tolist(), strict=True)))
                for each, p in zip(tested, found, strict=True):
                    if np.isnan(p):
                        untested[claim][each.kind] += 1
                    else:
                        kinds[claim].add(each.kind)
        thresholds = competition.thresholds(max_false)
    made: dict[Claim, Promise] = {"document": _document_promise(thresholds, images, max_false)}
    least: dict[Claim, dict[str, float]] = {}
    for claim, counted in p_values.items():
        values = np.array(sorted(counted))
        numbers = np.array([counted[value] for value in values.tolist()], np.int64)
        largest = largest_p_value(values, numbers, max_false)
        least[claim] = {kind: _least(classes, claim, largest) for kind, classes in sorted(usable.items())}
        unknown, refused = untested[claim], None
        if unknown:
            common = min(unknown, key=lambda kind: (-unknown[kind], kind))
            refused = f"not enough calibration data of this kind ({common})"
        documents = [each for kind in kinds[claim] for some in usable[kind].values() for each in some]
        kept, figures = int(numbers[values <= largest].sum()), sum(map(len, documents))
        made[claim] = Promise(claim, max_false, counted.total(), kept, figures, unknown.total(), refused)
    return Thresholds(
        tuple(replace(made[claim], decides=claim == required) for claim in CLAIMS), thresholds, least, required
    )


def conformal_p_values(
    scores: NDArray[np.float64], classes: Mapping[str, Sequence[Sequence[Figure]]], claim: Claim
) -> NDArray[np.float64]:
    """Return (n,) p values of the hypothesis "this link is wrong".

    A p value says how often a calibration figure is wrong and scores as high. All documents weigh the same: each figure
    weighs 1 / number of figures of its document (Lee, Barber and Willett 2023, arXiv 2306.06342). The largest p value
    of all classes counts, so that the promise holds for images that are like any class, or like a mixture.

    Args:
        scores: (n,) of the images.
        classes: Class of document to calibration figures, document by document; at least one class.
    """
    p_values = np.zeros(len(scores))
    # With all classes in one heap, old books that were left out had twice as many false paragraphs as stated.
    for documents in classes.values():
        pairs = [
            (figure.paragraph if claim == "paragraph" else figure.sentence, 1 / len(figures))
            for figures in documents
            for figure in figures
            if not (figure.paragraph_right if claim == "paragraph" else figure.sentence_right)
        ]
        wrong = np.array(sorted(pairs), np.float64).reshape(-1, 2)
        tail = np.append(np.cumsum(wrong[::-1, 1])[::-1], 0.0)  # total weight from each wrong figure on
        p_values = np.maximum(p_values, (1 + tail[np.searchsorted(wrong[:, 0], scores)]) / (len(documents) + 1))
    return p_values


def largest_p_value(values: NDArray[np.float64], numbers: NDArray[np.int64], max_false: float) -> float:
    """Return the largest p_(k) <= max_false k / n of n hypotheses (Benjamini-Hochberg); -1 if none is rejected.

    Args:
        values: (d,) different p values, ascending.
        numbers: (d,) number of hypotheses with each p value.
    """
    low = np.flatnonzero(values <= max_false * np.cumsum(numbers) / max(1, numbers.sum()) + 1e-12)
    return float(values[low[-1]]) if len(low) else -1.0


def _least(classes: Mapping[str, Sequence[Sequence[Figure]]], claim: Claim, largest: float) -> float:
    """Return the smallest score whose p value is at most ``largest``; infinite if there is none."""
    figures = [figure for documents in classes.values() for some in documents for figure in some]
    # P values can fall only just above the score of a figure.
    above = np.nextafter([f.paragraph if claim == "paragraph" else f.sentence for f in figures], math.inf)
    scores = np.append(-math.inf, np.unique(above))
    low = np.flatnonzero(conformal_p_values(scores, classes, claim) <= largest)
    return float(scores[low[0]]) if len(low) else math.inf


def _scored(tested: Iterable[Candidate], claim: Claim) -> Iterator[tuple[Candidate, float | None]]:
    return ((each, each.paragraph if claim == "paragraph" else each.sentence) for each in tested)


def _by_document(tested: Iterable[Candidate], passed: Iterable[bool]) -> dict[str, frozenset[int]]:
    images: dict[str, set[int]] = {}
    for each in compress(tested, passed):
        images.setdefault(each.document, set()).add(each.image)
    return {name: frozenset(numbers) for name, numbers in images.items()}


def _rivals(
    tested: Sequence[Candidate],
) -> tuple[list[str | None], NDArray[np.float64], NDArray[np.float64]]:
    pairs = np.array([(each.own, each.decoy) for each in tested], np.float64).reshape(-1, 2)
    return [each.collection for each in tested], pairs[:, 0], pairs[:, 1]


def _document_promise(thresholds: DecoyThresholds, images: int, max_false: float) -> Promise:
    needed, rivals = math.ceil(1 / max_false - 1e-9), thresholds.tested
    refused = None
    if not rivals:
        refused = "no decoys: link several documents with pictures together, by picture or caption"
    elif rivals < needed:
        refused = f"too few pictures: at least {needed} are needed, each with a decoy"
    if refused:
        return Promise("document", max_false, 0, 0, 0, images, refused)
    why = "no decoy with words of the same kind" if images > rivals else None
    return Promise(
        "document", max_false, rivals, thresholds.kept, rivals, images - rivals, why, collections=thresholds.collections
    )


def _usable(calibration: Calibration, max_false: float) -> Calibration:
    """Return the kinds of which every class has enough documents for a promise."""
    needed = math.ceil(1 / max_false - 1e-9) - 1  # with fewer documents no p value is small enough
    return {
        kind: classes for kind, classes in calibration.items() if classes and min(map(len, classes.values())) >= needed
    }


def _p_values(tested: Sequence[Candidate], usable: Calibration, claim: Claim) -> NDArray[np.float64]:
    """Return (n,) p values; NaN for images that cannot be tested."""
    rows: dict[str, list[tuple[int, float]]] = {}
    for n, (each, score) in enumerate(_scored(tested, claim)):
        if score is not None and each.kind in usable:
            rows.setdefault(each.kind, []).append((n, score))
    p_values = np.full(len(tested), np.nan)
    for kind, some in rows.items():
        places, scores = zip(*some, strict=True)
        p_values[list(places)] = conformal_p_values(np.array(scores, np.float64), usable[kind], claim)
    return p_values


LinkAll = Callable[[Iterable["Document | Failure"], tuple[Evidence, ...]], Iterator["LinkedDocument | Failure"]]
"""Links documents by some kinds of evidence, each image to its best sentence."""


def control_among_documents(
    documents: Iterable[Document | Failure], link_all: LinkAll, settings: LinkSettings, calibration: Calibration
) -> Controlled:
    """Make the promises for documents that are linked together."""
    if settings.max_false is None:
        raise SettingError("max_false is not set: say which share of the links may be wrong")
    pool = DecoyPool()
    ids: set[str] = set()
    for document in documents:
        if isinstance(document, Document):
            if document.id in ids:
                raise SettingError(f"two documents have the id {document.id!r}: promises need ids that differ")
            ids.add(document.id)
            pool.add(document)
    tested = list(candidates(documents, pool, link_all, settings.evidence))
    return control_false_discoveries(tested, calibration, settings.max_false, settings.promise)


def candidates(
    documents: Iterable[Document | Failure], pool: DecoyPool, link_all: LinkAll, evidence: tuple[Evidence, ...]
) -> Iterator[Candidate]:
    """Yield a ``Candidate`` for each linked image.

    Args:
        documents: Iterated twice, with unique ids; those that cannot be linked are skipped.
    """
    rivals = _rivals_of(documents, pool, link_all, evidence)
    for linked in link_all(documents, evidence):
        if isinstance(linked, LinkedDocument):
            for link in linked.links:
                yield Candidate(
                    linked.document.id,
                    link.image,
                    kind_of(linked.document, link.image, evidence),
                    link.confidence,
                    link.paragraph,
                    *rivals.get((linked.document.id, link.image), ()),
                )


def _rivals_of(
    documents: Iterable[Document | Failure], pool: DecoyPool, link_all: LinkAll, evidence: tuple[Evidence, ...]
) -> dict[tuple[str, int], tuple[float, float, str | None]]:
    """Return (score, score of the decoy, their collection) by (document id, image number), for images with a decoy."""
    content = tuple(kind for kind in evidence if kind not in ("layout", "reference"))
    scores: dict[tuple[str, int], tuple[float, float, str | None]] = {}
    pairs: dict[str, dict[int, tuple[int, str | None]]] = {}

    def joined() -> Iterator[Document]:
        for document in documents:
            if isinstance(document, Document):
                both, pairs[document.id] = pool.with_decoys(document)
                yield both

    for linked in link_all(joined(), content) if content else ():
        if isinstance(linked, LinkedDocument):
            best = {link.image: link.score for link in linked.links}
            for own, (decoy, collection) in pairs.pop(linked.document.id).items():
                if own in best and decoy in best:
                    scores[linked.document.id, own] = best[own], best[decoy], collection
    return scores
