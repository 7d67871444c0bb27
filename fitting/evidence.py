"""How well each kind of evidence finds the sentence that cites a figure, and the fit of all that is learned from them.

    python -m fitting words evidence     make word_counts.txt; matcher.safetensors, habit.json and coefficients.json
    python -m fitting.evidence           the tables below

They need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout) and a folder for the model
that looks at the pictures (--work): the default model, trained without the books of these figures. Features are cached;
the first run encodes some 200,000 texts and 2,200 pictures.

The documents: cited figures of fifteen books and guides made with seven generators (documents/cited), of fourteen
OpenStax books (documents/textbook, documents/cited_text). The marks of the citations are removed. The tables leave out
whole repositories and books, in five parts: everything that is fitted has not seen the book it is tested on. It prints

1. image@1, the share of cited figures whose best sentence cites them, and AUC over the cells of a document, mean over
   documents; 95 % intervals from 2,000 resamplings of the documents; simple rules in the same table;
2. by repository and book, with the habit that was found;
3. calibration of the best sentence's confidence.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from scipy.stats import rankdata

from fitting import DATA, PACKAGE
from fitting.cited_documents import Cited, Compare, variants, with_foreign
from fitting.default_model import unseen_by
from fitting.fit_evidence import Example, common_habit, dump_coefficients, example, fit_coefficients, with_habits
from fitting.fit_matcher import CitedCaptions, fit_matcher
from iconotext.corpus.store import read_corpus
from iconotext.decide.combine import Coefficients, combine, load_coefficients
from iconotext.encoders.load import ModelRequest, trained_encoder
from iconotext.evidence.caption import PROBE, Encode, Matcher, texts_of
from iconotext.evidence.layout import OPENING, PLACES
from iconotext.evidence.words import stems
from iconotext.features import (
    FeatureCache,
    ImageFeatures,
    cached_image,
    cached_text,
    load_image_backbone,
    load_text_backbone,
)
from iconotext.features.backbone import Picture
from iconotext.system.files import write_text
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

EVIDENCE, DECIDE = PACKAGE / "evidence", PACKAGE / "decide"
OF_OTHER_STEPS = ("ocr", "context")  # weights of words_in_pictures.py and context.py
FILES = ("cited/cited.jsonl", "textbook/cited.jsonl", "cited_text/openstax.jsonl")
MOST = 40  # documents of a book that the weights are fitted on: books of fourteen sizes count nearly alike
LEAST = 3  # sections that a word must stand in to be counted
PARTS = 5
RESAMPLINGS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """One document on which something was tested; V images.

    Attributes:
        hits: Of the images with gold links, whether the best sentence is right.
        best: Confidence of the best sentence of each.
        auc: Over the cells, nan where undefined.
    """

    hits: NDArray[np.bool_]
    best: NDArray[np.float64]
    auc: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--work", type=Path, default=Path("default-model"))
    arguments = parser.parse_args()
    learned = learn(arguments.data, arguments.work)
    testing = [example(c, learned.encode, matcher=learned.matchers[learned.parts[c.collection]]) for c in learned.cited]
    rng = np.random.default_rng(1)
    mixed = [with_foreign(c, learned.cited, rng, share=1.0) for c in few(learned.cited)]
    foreign = [example(c, learned.encode, matcher=learned.matchers[learned.parts[c.collection]]) for c in mixed]
    report(learned.parts, learned.publishers, learned.training, testing, foreign)


class LearnedFrom(NamedTuple):
    """The documents, and what all weights are fitted on.

    Attributes:
        cited: All documents.
        encode: Of texts.
        publishers: Collection to publisher.
        parts: Collection to the part in which it is tested.
        matchers: Part to the matcher of captions that has not seen it.
        training: Some documents and disturbed copies, each with the scores of a matcher that has not seen its book, as
            it will be with the users' documents.
    """

    cited: list[Cited]
    encode: Encode
    publishers: dict[str, str]
    parts: dict[str, int]
    matchers: dict[int, Matcher]
    training: list[Example]


def learn(data: Path, work: Path) -> LearnedFrom:
    """Read the documents, and fit the matchers without the part that each is to read."""
    looking = looking_with(unseen_by("cited figures", data, work))
    cited, encode = with_vectors(cited_figures(data), looking)
    publishers = {c.collection: publisher(c) for c in cited}
    parts = split(publishers, by_generator=False)
    note("the matchers of each part")
    matchers = {
        part: fit_matcher(captions([c for c in cited if parts[c.collection] != part], encode), encode([PROBE])[0])
        for part in sorted(set(parts.values()))
    }
    note("the features")
    some = variants(few(cited), seed=0)
    training = [example(c, encode, weight=w, matcher=matchers[parts[part_of(c)]]) for c, w in some]
    return LearnedFrom(cited, encode, publishers, parts, matchers, training)


def cited_figures(data: Path) -> list[Document]:
    return [document for name in FILES for document in read_corpus(data / "documents" / name)]


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def part_of(cited: Cited) -> str:
    """The collection that a document, or a disturbed copy of it, is from."""
    return str(cited.document.meta["collection"])


def publisher(cited: Cited) -> str:
    return str(cited.document.meta.get("generator", "openstax"))


def split(publishers: Mapping[str, str], *, by_generator: bool) -> dict[str, int]:
    """Collection to the part in which it is tested."""
    if by_generator:
        numbers = {name: i for i, name in enumerate(sorted(set(publishers.values())))}
        return {collection: numbers[name] for collection, name in publishers.items()}
    parts: dict[str, int] = {}
    for is_openstax in (False, True):
        own = sorted(c for c, name in publishers.items() if (name == "openstax") == is_openstax)
        order = np.random.default_rng(0).permutation(len(own))
        parts |= {own[i]: place % PARTS for place, i in enumerate(order)}
    return parts


def count_words(data: Path, work: Path) -> dict[str, Any]:
    """Write how many sections each stem stands in, of the documents of OpenStax."""
    sections = [d for d in cited_figures(data) if "generator" not in d.meta]
    counts = Counter(word for d in sections for word in {w for s in d.sentences for w in stems(s.text)})
    lines = [f"{word} {count}" for word, count in sorted(counts.items()) if count >= LEAST]
    write_text(EVIDENCE / "word_counts.txt", "\n".join([str(len(sections)), *lines]) + "\n", force=True)
    return {"words": len(lines), "sections": len(sections)}


def make(data: Path, work: Path) -> dict[str, Any]:
    """Write the matcher of captions, the common habit, and the weights of pictures, captions, layout and references."""
    cited, encode, *_, training = learn(data, work)
    matcher = fit_matcher(captions(cited, encode), encode([PROBE])[0])
    arrays = {name: getattr(matcher, name).astype(np.float16) for name in Matcher.__slots__ if name != "cosine"}
    save_file(arrays, EVIDENCE / "matcher.safetensors")
    common = common_habit(training)
    shares = {place: round(float(share), 5) for place, share in zip(PLACES[:OPENING], common[:OPENING], strict=True)}
    write_text(EVIDENCE / "habit.json", json.dumps(shares, indent=1) + "\n", force=True)
    kept = {kind: entry for kind, entry in load_coefficients().items() if kind in OF_OTHER_STEPS}
    write_text(DECIDE / "coefficients.json", dump_coefficients(fit_coefficients(training, common) | kept), force=True)
    return {"documents": len(cited)}


def few(cited: Sequence[Cited], most: int = MOST) -> list[Cited]:
    """At most ``most`` documents of each collection."""
    seen: Counter[str] = Counter()
    order = np.random.default_rng(0).permutation(len(cited))
    chosen = set()
    for i in order:
        seen[cited[i].collection] += 1
        if seen[cited[i].collection] <= most:
            chosen.add(i)
    return [c for i, c in enumerate(cited) if i in chosen]


def captions(cited: Sequence[Cited], encode: Encode) -> list[CitedCaptions]:
    """What the matcher learns from."""
    sizes = Counter(c.collection for c in cited for _ in c.document.images)
    mean = np.mean([size**-0.5 for size in sizes.values()])
    found = []
    for c in cited:
        texts = [texts_of(image) for image in c.document.images]
        own = [fields.get("caption") or fields.get("lone") for fields in texts]
        vectors = [encode([text])[0] if text else np.zeros_like(c.sentence_vectors[0]) for text in own]
        positive = np.zeros((len(c.document.sentences), len(texts)), dtype=np.bool_)
        for i, j in c.document.links or ():
            positive[i, j] = True
        weight = float(sizes[c.collection] ** -0.5 / mean)
        found.append(CitedCaptions(c.sentence_vectors, np.stack(vectors), positive, weight))
    return found


class Looking(NamedTuple):
    """What looks at pictures, as ``Cited`` wants it.

    Attributes:
        rows: From files to what ``compare`` takes of each.
        compare: As in ``Cited``.
    """

    rows: Callable[[Sequence[Picture]], FloatMatrix]
    compare: Compare


def looking_with(model: Path) -> Looking:
    """A trained model; features of pictures lie side by side in a row."""
    encoder = trained_encoder(ModelRequest(str(model), cache=FeatureCache()))
    backbone = cached_image(load_image_backbone(), FeatureCache())

    def rows(files: Sequence[Picture]) -> FloatMatrix:
        found = backbone.encode(files)
        return np.hstack([found.pooled, *([] if found.probabilities is None else [found.probabilities])])

    def compare(sentences: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
        pooled, probabilities = images[:, : backbone.dim], images[:, backbone.dim :]
        features = ImageFeatures(pooled, probabilities, problems=(None,) * len(images))
        return encoder.space.sentences(sentences, sentences) @ encoder.space.images(features, features).T

    return Looking(rows, compare)


def with_vectors(documents: Sequence[Document], looking: Looking) -> tuple[list[Cited], Encode]:
    """The documents with their vectors, without unreadable images; and the text encoder, answering from memory."""
    text = cached_text(load_text_backbone(), FeatureCache())
    documents = [_readable(document) for document in documents]
    documents = [d for d in documents if d.images and d.sentences]
    texts = {s.text for d in documents for s in d.sentences} | {PROBE}
    for d in documents:
        for i in d.images:
            texts |= {*texts_of(i).values(), *texts_of(replace(i, caption=None)).values()}
    ordered = sorted(texts)
    rows = dict(zip(ordered, text.encode(ordered), strict=True))

    def encode(wanted: Sequence[str]) -> FloatMatrix:
        return np.stack([rows[t] for t in wanted])

    files = sorted({i.file for d in documents for i in d.images if isinstance(i.file, Path) and i.problem is None})
    pictures = dict(zip(files, looking.rows(files), strict=True))
    found = []
    for d in documents:
        seen = all(i.file in pictures for i in d.images)
        images = np.stack([pictures[Path(str(i.file))] for i in d.images]) if seen else None
        whole = replace(d, images=tuple(replace(i, problem=None) for i in d.images))
        vectors = encode([s.text for s in d.sentences])
        found.append(Cited(whole, vectors, images, str(d.meta["collection"]), looking.compare))
    return found, encode


def _readable(document: Document) -> Document:
    """With its collection in ``meta``, and without pictures that cannot be read, if there are others."""
    meta = document.meta
    collection = meta.get("repository") or meta.get("book") or document.id.split("/")[0]
    good = [j for j, image in enumerate(document.images) if image.problem is None] or range(len(document.images))
    number = {j: new for new, j in enumerate(good)}
    links = tuple((i, number[j]) for i, j in document.links or () if j in number)
    images = tuple(document.images[j] for j in good)
    return replace(document, images=images, links=links, meta={**meta, "collection": collection, "own": images})


Score = Callable[[Example], "tuple[FloatMatrix, FloatMatrix]"]
"""An example to the (S, V) scores of its cells, and their confidences."""


def report(
    parts: Mapping[str, int],
    publishers: Mapping[str, str],
    training: Sequence[Example],
    testing: Sequence[Example],
    foreign: Sequence[Example],
) -> None:
    fitted: dict[int, dict[str, Coefficients]] = {}
    results: dict[str, list[tuple[str, Tested]]] = defaultdict(list)
    for part in sorted(set(parts.values())):
        others = [e for e in training if parts[collection_of(e)] != part]
        common = common_habit(others)
        note(f"the weights of part {part}")
        fitted[part] = fit_coefficients(others, common)
        own = [e for e in testing if parts[e.collection] == part]
        rows = {
            "nearest sentence": (own, plain(nearest)),
            "most shared words": (own, plain(shared("count"))),
            "most shared rare words": (own, plain(shared("both"))),
            "cosine of the sentence encoder": (own, plain(shared("cos"))),
            "caption": (own, weighed(fitted[part], "caption")),
        }
        together, alone = (with_habits(own, fitted[part], common, together=t) for t in (True, False))
        rows |= {
            "layout": (together, weighed(fitted[part], "layout")),
            "caption + layout, each document alone": (alone, weighed(fitted[part], "caption", "layout")),
            "caption + layout": (together, weighed(fitted[part], "caption", "layout")),
            "with the picture": (together, weighed(fitted[part], "caption", "layout", "picture")),
            "foreign": (
                with_habits([e for e in foreign if parts[e.collection] == part], fitted[part], common),
                weighed(fitted[part], "caption", "layout"),
            ),
        }
        for name, (examples, score) in rows.items():
            results[name] += [(e.collection, test(e, *score(e))) for e in examples]
    mixed = results.pop("foreign")
    groups = {"OpenStax": True, "others": False}
    print(f"{'evidence':40}" + "".join(f"{name + ': image@1':>24}{'AUC':>24}" for name in groups))
    for name, found in results.items():
        cells = [
            [r for c, r in found if (publishers[c] == "openstax") == is_openstax] for is_openstax in groups.values()
        ]
        print(f"{name:40}" + "".join(f"{interval(c, image_at_1):>24}{interval(c, mean_auc):>24}" for c in cells))
    print("\nimage@1 by repository and book: most shared words, caption, caption + layout, figures\n")
    for collection in sorted(parts, key=lambda c: (publishers[c], c)):
        own_results = [
            [r for c, r in results[n] if c == collection] for n in ("most shared words", "caption", "caption + layout")
        ]
        figures = sum(len(r.hits) for r in own_results[0])
        shares = " ".join(f"{image_at_1(r):6.1%}" for r in own_results)
        print(f"{publishers[collection]:10} {collection[:50]:50} {shares} {figures}")
    for title, some in (("caption + layout", results["caption + layout"]), ("with pictures of other documents", mixed)):
        for name, is_openstax in groups.items():
            report_calibration(f"{title}, {name}", [r for c, r in some if (publishers[c] == "openstax") == is_openstax])


def collection_of(e: Example) -> str:
    return str(e.document.meta["collection"])


def weighed(coefficients: Mapping[str, Coefficients], *kinds: Evidence) -> Score:
    def score(e: Example) -> tuple[FloatMatrix, FloatMatrix]:
        (found,) = combine([e.only(kinds)], coefficients)
        return found.score, found.confidence

    return score


def plain(rule: Callable[[Example], FloatMatrix]) -> Score:
    def score(e: Example) -> tuple[FloatMatrix, FloatMatrix]:
        values = rule(e)
        return values, np.zeros_like(values)

    return score


def nearest(e: Example) -> FloatMatrix:
    positions = np.array([0 if i.position is None else i.position for i in e.document.images])
    rows = np.arange(len(e.document.sentences))[:, None]
    distance = np.where(rows < positions, positions - 1 - rows, rows - positions + 0.5)
    return np.asarray(-distance, np.float32)


def shared(feature: str) -> Callable[[Example], FloatMatrix]:
    def score(e: Example) -> FloatMatrix:
        return e.features.get("caption", {}).get(f"caption.{feature}", np.zeros(e.positive.shape, np.float32))

    return score


def test(e: Example, score: FloatMatrix, confidence: FloatMatrix) -> Tested:
    # Images of other documents count for the calibration; images of the document's own without gold links do not.
    own = np.array([j < len(e.document.meta["own"]) for j in range(e.positive.shape[1])])
    columns = np.flatnonzero(e.positive.any(axis=0) | ~own)
    rows = score[:, columns].argmax(axis=0)
    best = confidence[rows, columns].astype(np.float64)
    return Tested(e.positive[rows, columns], best, auc(score, e.positive))


def auc(score: FloatMatrix, positive: NDArray[np.bool_]) -> float:
    """Chance that a linked cell scores above an unlinked one, ties half; nan where one of them is missing."""
    right = int(positive.sum())
    wrong = positive.size - right
    if not right or not wrong:
        return float("nan")
    ranks = rankdata(score, axis=None).reshape(score.shape)
    return float((ranks[positive].sum() - right * (right + 1) / 2) / (right * wrong))


def image_at_1(results: Sequence[Tested]) -> float:
    return float(np.concatenate([result.hits for result in results]).mean())


def mean_auc(results: Sequence[Tested]) -> float:
    return float(np.nanmean([result.auc for result in results]))


def interval(results: Sequence[Tested], measure: Callable[[Sequence[Tested]], float]) -> str:
    rng = np.random.default_rng(0)
    drawn = [measure([results[i] for i in rng.integers(len(results), size=len(results))]) for _ in range(RESAMPLINGS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{measure(results):6.1%} ({low:.1%}-{high:.1%})"


def report_calibration(title: str, results: Sequence[Tested]) -> None:
    hits, best = np.concatenate([r.hits for r in results]), np.concatenate([r.best for r in results])
    error = 0.0
    print(f"\n{title}: {len(hits)} images\n  {'bin':>10} {'images':>7} {'confidence':>11} {'right':>7}")
    for low, inside in _bins(best):
        if inside.any():
            confidence, right = best[inside].mean(), hits[inside].mean()
            error += inside.mean() * abs(confidence - right)
            print(f"  {low:.1f} - {low + 0.1:.1f} {inside.sum():7d} {confidence:11.1%} {right:7.1%}")
    print(f"  expected calibration error {error:.1%}")


def _bins(best: NDArray[np.float64]) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    for number in range(10):
        yield number / 10, np.minimum((best * 10).astype(np.int64), 9) == number


if __name__ == "__main__":
    main()
