"""How well pictures are placed in a text that has none.

    python benchmarks/place.py report        prints all tables of docs/results/records, place-*.json
    python benchmarks/place.py pictures      prints the one with what pictures show

With --record the tables are written to docs/results/records, too; --pages makes a short run of the first pages of each
book or genre.

They need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout).

The pages are those of ``fitting/context.py``, which rewrites them.

Everything that is fitted (the matcher of captions, the weights of caption and layout, the habits of places, and the
weights of context evidence) has not seen the publisher that it is tested on: OpenStax, Gutenberg, or the books of a
generator. Recipes and logs are in no fit of these. Intervals: 95 %, from 2,000 resamplings of the pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from data_folder import parser_with_data
from numpy.typing import NDArray
from result_tables import Figure, Table, program_version, share, show, write_record

from iconotext.decide.combine import (
    Coefficients,
    combine,
)
from iconotext.encoders.load import load_encoder
from iconotext.evidence.words import stems
from iconotext.linker import Linker, LinkSettings
from iconotext.place.settings import MIN_CONFIDENCE
from iconotext.read import Failure
from iconotext.types import Document, Evidence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.context import MOST, ORGANIC, Page, Text, Unseen, encoder, fit, linked_pages, rewritten_texts
from fitting.evidence import note
from fitting.rewritten import CHANGES, paragraph, rewritten, section, whole_sentence

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

LEASTS = (0.0, 0.2, 0.25, MIN_CONFIDENCE, 0.4, 0.5, 0.6, 0.75)


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("command", choices=["report", "pictures"])
    parser.add_argument("--pages", type=int, help=f"Most pages of a book or genre (default: {MOST} of a book)")
    parser.add_argument("--record", action="store_true", help="Write the records of the tables")
    arguments = parser.parse_args()
    folder = arguments.data / "documents"
    version = program_version()
    for table in tables(arguments.command, folder, arguments.pages):
        show(table)
        if arguments.record:
            size = "" if arguments.pages is None else f" --pages {arguments.pages}"
            write_record(table, f"python benchmarks/place.py {arguments.command}{size} --record", version)


def tables(command: str, folder: Path, most: int | None) -> Iterator[Table]:
    """Measure what a command says, and yield its tables."""
    encode = encoder()
    pages, unseen = linked_pages(folder, encode, most)
    yield pictures_table(pages)
    if command == "pictures":
        return
    yield from place_tables(rewritten_texts(pages, unseen, encode), unseen)


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
"""A text to the (S, V) scores of its cells, and the (V,) confidence of the paragraph at each picture's best place."""


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
    known: bool = False,
) -> Score:
    """What the program does, with the weights that have not seen the publisher."""

    def score(text: Text) -> tuple[FloatMatrix, NDArray[np.float64]]:
        evidence = text.known if known else text.evidence
        (found,) = combine([evidence.only([kind])], coefficients[text.publisher])
        best = found.confidence.argmax(axis=0)
        return found.confidence, found.paragraph[best, np.arange(len(best))].astype(np.float64)

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
        settings = LinkSettings(evidence=kinds, k=1, min_confidence=0.0, relations="none")
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
