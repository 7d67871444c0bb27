"""How well pictures are placed in a text that has none, and the fit of the weights of context evidence.

    python benchmarks/place.py fit           writes the weights with context evidence into decide/coefficients.json
    python benchmarks/place.py report        prints all tables of docs/results/place.md
    python benchmarks/place.py pictures      prints the one with what pictures show
    python benchmarks/place.py translations  prints those of pages in other languages: see place_translations.py

With --record the tables are written to docs/results/records, too; --pages makes a short run of the first pages of each
book or language.

They need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout).

The pages: cited figures of books and guides (documents/cited), of OpenStax (documents/textbook, documents/cited_text;
captions only), whose marks of citation are removed; recipes, build logs and home logs, whose links are those of their
author's layout. ``rewritten.py`` takes out pictures and headings and changes the text. Each picture comes with its
caption and alternative text, without number, and with its context: the sentences that its page links it with, by
caption and layout. A text also gets some pictures of other publishers' pages, which belong nowhere.

Everything that is fitted (the matcher of captions, the weights of caption and layout, the habits of places, and the
weights of context evidence) has not seen the publisher that it is tested on: OpenStax, Gutenberg, or the books of a
generator. Recipes and logs are in no fit of these. Intervals: 95 %, from 2,000 resamplings of the pages.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cited_documents import Cited, variants
from fit_evidence import FIRST, Example, common_habit, dump_coefficients, example, fit_subset, with_habits
from fit_logit import fit_logit
from fit_matcher import fit_matcher
from numpy.typing import NDArray
from result_tables import Figure, Table, program_version, share, show, write_record
from rewritten import CHANGES, OF_TWO, Rewritten, paragraph, rewritten, section, whole_sentence, without_place

from evidence import DECIDE, FILES, captions, collection_of, few, note, part_of, publisher, split
from iconotext.corpus.store import read_corpus
from iconotext.decide.choose import in_order
from iconotext.decide.combine import (
    EXPLICIT_PRECISION,
    Coefficients,
    combine,
    load_coefficients,
    subset_name,
)
from iconotext.encoders.load import load_encoder
from iconotext.evidence.caption import PROBE, Encode, Matcher, Reading
from iconotext.evidence.gather import DocumentEvidence, gather_evidence
from iconotext.evidence.words import stems
from iconotext.features import FeatureCache, cached_text, load_text_backbone
from iconotext.linker import Linker, LinkSettings
from iconotext.place.pictures import from_elsewhere
from iconotext.place.settings import MIN_CONFIDENCE
from iconotext.read import Failure
from iconotext.system.files import write_text
from iconotext.types import Document, Evidence, LinkedDocument, LinkedSentence

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

ROOT = Path(__file__).resolve().parent.parent
ORGANIC = ("cooking", "garden_home", "build")
MOST = 12
"""Pages of a book, so that books of many sizes count nearly alike."""

FOREIGN = 0.25
"""Pictures of other publishers' pages in a text, for each of its own."""

LEASTS = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7)
BATCH = 20


class Unseen(NamedTuple):
    """What was fitted without a publisher."""

    matcher: Matcher
    weights: Mapping[str, Coefficients]
    common: NDArray[np.float64]


class Page(NamedTuple):
    """A page, whose images have their contexts."""

    document: Document
    collection: str
    publisher: str


class Text(NamedTuple):
    """A rewritten text with its evidence by caption and context; the images from ``foreign`` on belong nowhere.

    ``known`` is the evidence by context if the page's own links are known, as where its citations have their marks.
    ``above`` has the sentence that stood above each picture on its page, for a simple rule.
    """

    publisher: str
    change: str
    rewritten: Rewritten
    evidence: DocumentEvidence
    known: DocumentEvidence
    foreign: int
    above: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["fit", "report", "pictures", "translations"])
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument(
        "--pages", type=int, help=f"Most pages of a book, genre or language (default: {MOST} of a book)"
    )
    parser.add_argument("--record", action="store_true", help="Write the records of the tables")
    arguments = parser.parse_args()
    folder = Path(arguments.data) / "documents"
    version = program_version()
    for table in tables(arguments.command, folder, arguments.pages):
        show(table)
        if arguments.record:
            size = "" if arguments.pages is None else f" --pages {arguments.pages}"
            write_record(table, f"python benchmarks/place.py {arguments.command}{size} --record", version)


def tables(command: str, folder: Path, most: int | None) -> Iterator[Table]:
    """Measure what a command says, and yield its tables."""
    if command in ("report", "translations"):
        from place_translations import translation_tables  # which takes its measures from here

        yield from translation_tables(folder / "languages", most)
    if command == "translations":
        return
    encode = encoder()
    pages, unseen = linked_pages(folder, encode, most)
    if command in ("report", "pictures"):
        yield pictures_table(pages)
    if command == "pictures":
        return
    texts = rewritten_texts(pages, unseen, encode)
    if command == "report":
        yield from place_tables(texts, unseen)
        return
    own = [text for text in texts if text.publisher not in ORGANIC]
    fitted = {**load_coefficients(), "context": fit(own)}
    write_text(DECIDE / "coefficients.json", dump_coefficients(fitted), force=True)
    print(f"fitted on {len(own)} texts")


def encoder() -> Encode:
    return cached_text(load_text_backbone(), FeatureCache()).encode


def named(documents: Sequence[Document], collection: Callable[[Document], str]) -> list[Document]:
    """The documents with their collections, and with all their pictures, also those without a file."""
    return [
        replace(
            document,
            images=tuple(replace(image, problem=None) for image in document.images),
            meta={**document.meta, "collection": collection(document)},
        )
        for document in documents
        if document.sentences and document.images
    ]


def linked_pages(data: Path, encode: Encode, most: int | None = None) -> tuple[list[Page], dict[str, Unseen]]:
    """All pages with the contexts of their pictures, and publisher to what was fitted without it."""

    def book(document: Document) -> str:
        return str(document.meta.get("repository") or document.meta.get("book") or document.id.split("/")[0])

    own = named([d for name in FILES for d in read_corpus(data / name)], book)
    chosen = few([Cited(d, np.zeros((0, 0), np.float32), None, book(d)) for d in own], most or MOST)
    cited = [cited_of(each.document, encode) for each in chosen]
    publishers = {c.collection: publisher(c) for c in cited}
    parts = split(publishers, by_generator=True)
    matchers = {}
    for part in sorted(set(parts.values())):
        note(f"the matcher of part {part}")
        others = [c for c in cited if parts[c.collection] != part]
        matchers[part] = fit_matcher(captions(others, encode), encode([PROBE])[0])
    training = [example(c, encode, weight=w, matcher=matchers[parts[part_of(c)]]) for c, w in variants(cited, seed=0)]
    pages: list[Page] = []
    unseen: dict[str, Unseen] = {}
    for part in sorted(set(parts.values())):
        note(f"the weights of part {part}")
        fitted = Unseen(matchers[part], *weights_of([e for e in training if parts[collection_of(e)] != part]))
        some = [c for c in cited if parts[c.collection] == part]
        unseen |= {publishers[c.collection]: fitted for c in some}
        pages += link(some, fitted, encode, [publishers[c.collection] for c in some])
    note("recipes and logs")
    everything = Unseen(fit_matcher(captions(cited, encode), encode([PROBE])[0]), *weights_of(training))
    for genre in ORGANIC:
        logs = named(list(read_corpus(data / genre / "documents.jsonl")), lambda d: d.id.split("/")[0])[:most]
        unseen[genre] = everything
        pages += link([cited_of(d, encode) for d in logs], everything, encode, [genre] * len(logs))
    return pages, unseen


def cited_of(document: Document, encode: Encode) -> Cited:
    vectors = encode([sentence.text for sentence in document.sentences])
    return Cited(document, vectors, None, str(document.meta["collection"]))


def weights_of(examples: Sequence[Example]) -> tuple[dict[str, Coefficients], NDArray[np.float64]]:
    """The weights of caption and layout, and how usual each place is."""
    common = common_habit(examples)
    fitted = {"caption": fit_subset(examples, ("caption",))}
    complete = with_habits(examples, fitted, common)
    return fitted | {subset_name(kinds): fit_subset(complete, kinds) for kinds in FIRST}, common


def link(cited: Sequence[Cited], unseen: Unseen, encode: Encode, publishers: Sequence[str]) -> list[Page]:
    """The pages with the contexts of their pictures, as ``Linker.link_all`` would link them without pictures."""
    plain = [example(c, encode, matcher=unseen.matcher) for c in cited]
    pages = []
    for c, e, name in zip(cited, with_habits(plain, unseen.weights, unseen.common), publishers, strict=True):
        (weighed_,) = combine([e.only(("caption", "layout"))], unseen.weights)
        linked = LinkedDocument(c.document, (), weighed_.confidence, "")
        images = zip(c.document.images, from_elsewhere(linked, probable=True), strict=True)
        context = tuple(replace(image, context=placeless.context) for image, placeless in images)
        pages.append(Page(replace(c.document, images=context), c.collection, name))
    return pages


def rewritten_texts(pages: Sequence[Page], unseen: Mapping[str, Unseen], encode: Encode) -> list[Text]:
    """Every page, rewritten in every way, with some pictures of other publishers."""
    made: list[tuple[Page, str, Rewritten, int, tuple[str, ...], list[Document]]] = []
    for change in CHANGES:
        for number, page in enumerate(pages):
            following = pages[(number + 1) % len(pages)]
            some = [page.document]
            if change in OF_TWO:
                if following.collection != page.collection:
                    continue
                some.append(following.document)
            text = rewritten(some, change, seed=number)
            if not text.document.sentences or not text.document.images:
                continue
            own = len(text.document.images)
            foreign = foreign_images(pages, page, own, np.random.default_rng(number))
            above = [above_on_page(some[n], j) for n, j in text.original] + [above_on_page(d, j) for d, j in foreign]
            images = (*text.document.images, *(without_place(d.images[j]) for d, j in foreign))
            document = replace(text.document, images=images)
            made.append((page, change, replace(text, document=document), own, tuple(above), some))
    texts = []
    for begin in range(0, len(made), BATCH):
        note(f"{begin} of {len(made)} texts")
        some_ = made[begin : begin + BATCH]
        for name in dict.fromkeys(page.publisher for page, *_ in some_):
            part = [each for each in some_ if each[0].publisher == name]
            documents = [text.document for _, _, text, *_ in part]
            known = [with_known_links(text, some) for _, _, text, *_, some in part]
            gathered, gathered_known = (
                gather_evidence(
                    each,
                    [None] * len(part),
                    [Reading(encode, None, unseen[name].matcher)] * len(part),
                    evidence=kinds,
                )
                for each, kinds in ((documents, ("caption", "context")), (known, ("context",)))
            )
            texts += [
                Text(page.publisher, change, text, evidence, evidence_known, own, above)
                for (page, change, text, own, above, _), evidence, evidence_known in zip(
                    part, gathered, gathered_known, strict=True
                )
            ]
    return texts


def with_known_links(text: Rewritten, pages: Sequence[Document]) -> Document:
    """The text with pictures of its own whose contexts are the gold sentences of their pages."""
    images = list(text.document.images)
    for number, gold in enumerate(text.gold):
        quoted = (pages[origin.page].sentences[origin.sentence].text for origin in sorted(gold))
        images[number] = replace(
            images[number], context=tuple(LinkedSentence(sentence, EXPLICIT_PRECISION) for sentence in quoted)
        )
    return replace(text.document, images=tuple(images))


def foreign_images(pages: Sequence[Page], page: Page, own: int, rng: np.random.Generator) -> list[tuple[Document, int]]:
    """Some pictures of other publishers' pages: page and number."""
    others = [other for other in pages if other.publisher != page.publisher]
    drawn = [others[int(k)].document for k in rng.integers(len(others), size=int(rng.binomial(4 * own, FOREIGN / 4)))]
    return [(document, int(rng.integers(len(document.images)))) for document in drawn]


def above_on_page(page: Document, image: int) -> str:
    """The sentence above a picture."""
    position = page.images[image].position
    return "" if not position else page.sentences[position - 1].text


def right_rows(text: Text) -> NDArray[np.bool_]:
    """(S, V) the sentence that is right; of a picture whose sentence is gone, its paragraph; of others nothing."""
    sentence, block = (text.rewritten.right(part) for part in (whole_sentence, paragraph))
    right = np.where(sentence.any(axis=0), sentence, block)
    nothing = np.zeros((len(right), len(text.rewritten.document.images) - right.shape[1]), np.bool_)
    return np.hstack([right, nothing])


def fit(texts: Sequence[Text]) -> Coefficients:
    """The weights of context evidence; a publisher weighs by the square root of its number of texts."""
    sizes = Counter(text.publisher for text in texts)
    names: list[str] = []
    rows, positive, lengths, weights = [], [], [], []
    for text in texts:
        columns = text.evidence.features.get("context", {})
        names = names or sorted(columns)
        belongs = right_rows(text)
        for j, image in enumerate(text.rewritten.document.images):
            if image.context:
                rows.append(np.stack([columns[name][:, j] for name in names], axis=1))
                positive.append(belongs[:, j])
                lengths.append(len(belongs))
                weights.append(sizes[text.publisher] ** -0.5)
    found, null = fit_logit(
        np.concatenate(rows),
        np.repeat(np.arange(len(lengths)), lengths),
        np.concatenate(positive),
        weight=np.array(weights) / np.mean(weights),
    )
    return Coefficients(round(null, 4), {n: round(float(w), 4) for n, w in zip(names, found, strict=True)})


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """The pictures of one text, V of its own and some foreign ones.

    Attributes:
        placed: (V,) bool, whether it was placed.
        there: Measure to (V,) whether the text still has what is right.
        hits: Measure to (V,) whether it was placed right.
        foreign: Number of foreign pictures, and of those that were placed.
    """

    placed: NDArray[np.bool_]
    there: Mapping[str, NDArray[np.bool_]]
    hits: Mapping[str, NDArray[np.bool_]]
    foreign: tuple[int, int]


MEASURES: Mapping[str, Callable[..., object]] = {
    "sentence": whole_sentence,
    "paragraph": paragraph,
    "section": section,
}

Score = Callable[[Text], "tuple[FloatMatrix, NDArray[np.float64]]"]
"""A text to the (S, V) scores of its cells, and the (V,) confidence of each picture's best place."""


def test(text: Text, score: Score, least: float) -> Placed:
    """What becomes of each picture at its best sentence, if it is placed where its confidence is at least ``least``."""
    scores, confidence = score(text)
    own = text.foreign
    placed = confidence >= least
    best = scores.argmax(axis=0)[:own]
    rows = np.arange(own)
    belongs = {name: text.rewritten.right(part) for name, part in MEASURES.items()}
    return Placed(
        placed[:own],
        {name: np.asarray(matrix.any(axis=0)) for name, matrix in belongs.items()},
        {name: np.logical_and(matrix[best, rows], placed[:own]) for name, matrix in belongs.items()},
        (len(placed) - own, int(placed[own:].sum())),
    )


def shared(feature: str) -> Score:
    """Simple rules: the sentence with most words in common with the caption; nowhere, if there are none."""

    def score(text: Text) -> tuple[FloatMatrix, NDArray[np.float64]]:
        values = text.evidence.features.get("caption", {}).get(f"caption.{feature}")
        if values is None:
            values = np.zeros(text.evidence.shape, np.float32)
        return values, (values.max(axis=0) > 0).astype(np.float64)

    return score


def at_the_end(text: Text) -> tuple[FloatMatrix, NDArray[np.float64]]:
    rows, images = text.evidence.shape
    return np.tile(np.arange(rows, dtype=np.float32)[:, None], (1, images)), np.ones(images)


def neighbour(text: Text) -> tuple[FloatMatrix, NDArray[np.float64]]:
    """A rule that looks at the page: the sentence with most words in common with the one above the picture there."""
    words = [stems(sentence.text) for sentence in text.rewritten.document.sentences]
    above = [stems(sentence) for sentence in text.above]
    values = np.array([[len(own & each) for each in above] for own in words], np.float32)
    return values, (values.max(axis=0) > 0).astype(np.float64)


def weighed(
    coefficients: Mapping[str, Mapping[str, Coefficients]],
    kind: Evidence,
    *,
    ordered: bool = False,
    known: bool = False,
) -> Score:
    """What the program does, with the weights that have not seen the publisher."""

    def score(text: Text) -> tuple[FloatMatrix, NDArray[np.float64]]:
        evidence = text.known if known else text.evidence
        (found,) = combine([evidence.only([kind])], coefficients[text.publisher])
        confidence = in_order(found.confidence) if ordered else found.confidence
        blocks = np.array([sentence.block for sentence in text.rewritten.document.sentences])
        best = confidence.argmax(axis=0)
        same = blocks[:, None] == blocks[best]
        return confidence, (confidence * same).sum(axis=0).clip(max=1).astype(np.float64)

    return score


def place_tables(texts: Sequence[Text], unseen: Mapping[str, Unseen]) -> Iterator[Table]:
    """The tables beside simple rules, by change, and by the smallest confidence."""
    weights: dict[str, dict[str, Coefficients]] = {}
    for kind in sorted({kind_of(text.publisher) for text in texts}):
        note(f"the weights without {kind}")
        others = [text for text in texts if text.publisher not in ORGANIC and kind_of(text.publisher) != kind]
        context = fit(others)
        own = {text.publisher for text in texts if kind_of(text.publisher) == kind}
        weights |= {name: {"caption": unseen[name].weights["caption"], "context": context} for name in own}
    methods: dict[str, tuple[Score, float]] = {
        "at the end": (at_the_end, 0.0),
        "shared words of the caption": (shared("count"), 0.5),
        "shared rare words of the caption": (shared("both"), 0.5),
        "shared words of the sentence above it on its page": (neighbour, 0.5),
        "`place`, captions alone": (weighed(weights, "caption"), MIN_CONFIDENCE),
        "`place`": (weighed(weights, "context"), MIN_CONFIDENCE),
        "`place`, all pictures": (weighed(weights, "context"), 0.0),
        "`place`, in the order of the pages": (weighed(weights, "context", ordered=True), MIN_CONFIDENCE),
        "`place`, the links of the pages known": (weighed(weights, "context", known=True), MIN_CONFIDENCE),
    }
    groups = {
        "figures": ("Figures of books and guides", [text for text in texts if text.publisher not in ORGANIC]),
        "logs": ("Recipes, home and build logs", [text for text in texts if text.publisher in ORGANIC]),
    }
    results = {name: [test(text, score, least) for text in texts] for name, (score, least) in methods.items()}
    number = {id(text): n for n, text in enumerate(texts)}
    by_change: dict[str, dict[str, Figure]] = {change: {} for change in CHANGES}
    for key, (group, own_texts) in groups.items():
        rows = [number[id(text)] for text in own_texts]
        size = f"{len(own_texts)} texts, {sum(text.foreign for text in own_texts)} pictures"
        yield Table(
            f"place-{key}",
            f"{group} ({size})",
            {name: cells([found[n] for n in rows]) for name, found in results.items()},
        )
        for change, row in by_change.items():
            some = [n for n in rows if texts[n].change == change]
            words = cells([results["shared rare words of the caption"][n] for n in some])
            placed = cells([results["`place`"][n] for n in some])
            row[f"{key}: rare words"] = words["right sentence"]
            row[f"{key}: `place`"] = placed["right sentence"]
            row[f"{key}: in a wrong section"] = placed["of these in a wrong section"]
    yield Table("place-changes", "By change", by_change)
    for name, label in (("`place`", "least"), ("`place`, captions alone", "captions-least")):
        for key, (group, own_texts) in groups.items():
            yield Table(
                f"place-{key}-{label}",
                f"{name}. {group}, by the smallest confidence",
                {
                    str(least): of_placed([test(text, methods[name][0], least) for text in own_texts])
                    for least in LEASTS
                },
                head="`--min-confidence`",
            )


def pictures_table(pages: Sequence[Page]) -> Table:
    """What the default model adds, on pages whose pictures are there and that it has not seen, by ``Linker`` itself."""
    there = [
        page
        for page in pages
        if page.publisher not in ("openstax", "cooking", "garden_home")
        and all(isinstance(image.file, Path) and image.file.is_file() for image in page.document.images)
    ]
    texts = [rewritten([page.document], "sections in another order", seed=n) for n, page in enumerate(there)]
    encoder = load_encoder("default")
    rows = {
        "context": ("context",),
        "context, picture": ("context", "picture"),
        "caption": ("caption",),
        "caption, picture": ("caption", "picture"),
        "picture": ("picture",),
    }
    shown: dict[str, dict[str, Figure]] = {}
    for name, kinds in rows.items():
        settings = LinkSettings(evidence=kinds, select="best", min_confidence=0.0, relations="none")
        documents = (as_known(text.document, kinds, number) for number, text in enumerate(texts))
        results = []
        for text, linked in zip(texts, Linker(encoder, settings).link_all(documents, {}), strict=True):
            if isinstance(linked, Failure):
                raise linked.error
            best = {link.image: link.sentence for link in linked.links}
            columns = np.array(sorted(best), np.int64)
            rows_of = np.array([best[j] for j in columns], np.int64)
            placed = np.isin(np.arange(len(text.gold)), columns)
            hits = {measure: np.zeros(len(text.gold), np.bool_) for measure in MEASURES}
            there_ = {}
            for measure, part in MEASURES.items():
                matrix = text.right(part)
                hits[measure][columns] = matrix[rows_of, columns]
                there_[measure] = np.asarray(matrix.any(axis=0))
            results.append(Placed(placed, there_, hits, (0, 0)))
        shown[name] = {
            f"right {part}": share(results, partial(right, name=part, among_placed=False))
            for part in ("sentence", "paragraph")
        } | {"in a wrong section": share(results, wrong_section)}
    return Table("place-pictures", f"What the pictures show ({len(texts)} texts, sections in another order)", shown)


def as_known(document: Document, kinds: Sequence[Evidence], number: int) -> Document:
    """The document with only what these kinds of evidence read of its images."""
    images = tuple(
        replace(
            image,
            context=image.context if "context" in kinds else (),
            caption=None if kinds == ("picture",) else image.caption,
            alt=None if kinds == ("picture",) else image.alt,
        )
        for image in document.images
    )
    return replace(document, id=str(number), images=images)


def kind_of(name: str) -> str:
    """OpenStax, old books, the guides of all modern generators together, or recipes and logs."""
    return "recipes and logs" if name in ORGANIC else name if name in ("openstax", "gutenberg") else "modern guides"


def cells(results: Sequence[Placed]) -> dict[str, Figure]:
    """Right sentence and paragraph, of the pictures for which it is still there; placed; wrong section; foreign."""
    return {
        "right sentence": share(results, partial(right, name="sentence", among_placed=False)),
        "right paragraph": share(results, partial(right, name="paragraph", among_placed=False)),
        "placed": share(results, share_placed),
        "of these in a wrong section": share(results, wrong_section),
        "foreign placed": share(results, foreign_placed),
    }


def of_placed(results: Sequence[Placed]) -> dict[str, Figure]:
    """Placed; right sentence and paragraph, of the pictures that were placed; in a wrong section; foreign."""
    return {
        "placed": share(results, share_placed),
        "right sentence": share(results, partial(right, name="sentence", among_placed=True)),
        "right paragraph": share(results, partial(right, name="paragraph", among_placed=True)),
        "wrong section": share(results, wrong_section),
        "foreign placed": share(results, foreign_placed),
    }


def right(each: Placed, *, name: str, among_placed: bool) -> tuple[int, int]:
    among = each.placed if among_placed else each.there[name]
    return int(each.hits[name].sum()), int(among.sum())


def share_placed(each: Placed) -> tuple[int, int]:
    return int(each.placed.sum()), len(each.placed)


def wrong_section(each: Placed) -> tuple[int, int]:
    return int((each.placed & ~each.hits["section"]).sum()), int(each.placed.sum())


def foreign_placed(each: Placed) -> tuple[int, int]:
    number, placed = each.foreign
    return placed, number


if __name__ == "__main__":
    main()
