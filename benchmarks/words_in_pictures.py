"""What the words in pictures know of the sentence that cites a figure.

    python benchmarks/words_in_pictures.py report        the tables below
    python benchmarks/words_in_pictures.py speed         seconds of one core for a picture, of twenty of each kind

They need the extra ``ocr`` and documents/cited of the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside
the checkout): figures of many publishers that a sentence cites, the mark of the citation removed. Lines and features
are cached; the first run reads 782 pictures, which takes one core about five minutes.

``report`` prints image@1, the percentage of cited figures whose best sentence cites them, by kind of picture. Weights
of the words are fitted without the repository that is tested; all other weights are those that ship. Rules that count
words share a hit among the sentences that tie. In brackets 95 % intervals from 2,000 resamplings of the documents; what
text adds is the difference figure by figure.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from data_folder import parser_with_data
from numpy.typing import NDArray
from result_tables import share

from iconotext.corpus.store import read_corpus
from iconotext.decide.combine import Coefficients, load_coefficients, weigh_evidence
from iconotext.encoders.encoder import Encoder
from iconotext.evidence.caption import Reading
from iconotext.evidence.picture import text_in
from iconotext.evidence.words import stems
from iconotext.features.ocr import load_line_reader
from iconotext.types import Document, Evidence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fitting.fit_logit import Added, fit_added
from fitting.words_in_pictures import OTHERS, read_figures, written

if TYPE_CHECKING:
    from iconotext.encoders.encoder import EncodedDocument
    from iconotext.types import FloatMatrix


def of_kind(*kinds: str) -> Callable[[Document], NDArray[np.bool_]]:
    return lambda document: np.array([kind in kinds for kind in document.meta["kind"]])


KINDS: Mapping[str, Callable[[Document], NDArray[np.bool_]]] = {
    "all": lambda document: np.ones(len(document.images), np.bool_),
    "with words": lambda document: np.array([bool(image.lines) for image in document.images]),
    "diagrams, screenshots, plots": of_kind("diagram", "plot"),
    "line drawings": of_kind("line drawing"),
    "photographs, engravings": of_kind("photo", "engraving or grey photo"),
}


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("command", choices=["report", "speed"])
    arguments = parser.parse_args()
    corpus = list(read_corpus(arguments.data / "documents" / "cited" / "cited.jsonl"))
    if arguments.command == "speed":
        speed(corpus)
        return
    documents, encoder = read_figures(corpus)
    found = {document.document.id: written(document, encoder) for document in documents}
    report(documents, found, encoder)
    report_foreign(documents, encoder)


def speed(documents: Sequence[Document]) -> None:
    reader = load_line_reader()
    for name, chosen in KINDS.items():
        if name == "with words":  # which nobody knows yet
            continue
        images = [image for d in documents for image, is_of in zip(d.images, chosen(d), strict=True) if is_of]
        files = [image.file for image in images if image.file is not None][:: max(len(images) // 20, 1)][:20]
        reader.read(files[:1])
        begun = time.process_time()
        lines = reader.read(files)
        seconds = (time.process_time() - begun) / len(files)
        print(f"{name:32} {seconds:.2f} s, {sum(map(len, lines)) / len(files):.1f} lines a picture")


def report(documents: Sequence[EncodedDocument], found: Mapping[str, list[Added]], encoder: Encoder) -> None:
    hits: dict[str, dict[str, NDArray[np.float64]]] = {}
    for repository in sorted({encoded.document.meta["repository"] for encoded in documents}):
        own = [encoded for encoded in documents if encoded.document.meta["repository"] == repository]
        mine = {encoded.document.id for encoded in own}
        fitted = fit_added([each for name, some in found.items() if name not in mine for each in some])
        for encoded in own:
            positive = found[encoded.document.id][0].positive
            for name, score in scores(encoded, encoder, {**load_coefficients(), "ocr": fitted}).items():
                hits.setdefault(name, {})[encoded.document.id] = image_hits(score, positive)
    columns = {name: {d.document.id: chosen(d.document) for d in documents} for name, chosen in KINDS.items()}
    counts = {name: int(sum(mask.sum() for mask in of.values())) for name, of in columns.items()}
    print(f"{'evidence':40}" + "".join(f"{f'{name} ({counts[name]})':>36}" for name in columns))
    for name in [name for name in hits if f"{name}, text" in hits]:
        with_text, without = hits[f"{name}, text"], hits[name]
        hits[f"text adds to {name}"] = {key: with_text[key] - without[key] for key in without}
    for name, by_document in hits.items():
        cells = [interval([by_document[key][mask] for key, mask in of.items()]) for of in columns.values()]
        print(f"{name:40}" + "".join(f"{cell:>36}" for cell in cells))


def report_foreign(documents: Sequence[EncodedDocument], encoder: Encoder) -> None:
    """Pictures with words in documents of other repositories: do words that fit nowhere look as if they did?"""
    rng, mass = np.random.default_rng(0), []
    for n, encoded in enumerate(documents):
        document, other = encoded.document, documents[(7 * n + 31) % len(documents)].document
        if other.meta["repository"] == document.meta["repository"]:
            continue
        places = rng.integers(len(document.sentences) + 1, size=len(other.images))
        images = [replace(x, position=int(at), block=None) for x, at in zip(other.images, places, strict=True)]
        strange = replace(document, images=tuple(image for image in images if image.lines))
        evidence: tuple[Evidence, ...] = ("caption", "layout")
        both = [
            weigh_evidence(strange, None, Reading(encoder.text_backbone.encode), evidence=kinds).confidence.sum(axis=0)
            for kinds in (evidence, (*evidence, "ocr"))
        ]
        mass.append(np.stack(both))
    without, with_text = np.concatenate(mass, axis=1).mean(axis=1)
    count = sum(each.shape[1] for each in mass)
    print(f"\n{count} pictures of other repositories, caption and layout: they belong to a sentence with", end=" ")
    print(f"{without:.3f} without text, {with_text:.3f} with it")


def scores(
    encoded: EncodedDocument, encoder: Encoder, coefficients: Mapping[str, Coefficients]
) -> dict[str, FloatMatrix]:
    """(S, V) of each way to find the sentence."""
    document, similarity, vectors = encoded.document, encoded.similarity, encoded.caption_vectors

    def weighed(*evidence: Evidence) -> FloatMatrix:
        return weigh_evidence(
            document,
            similarity,
            Reading(encoder.text_backbone.encode, vectors),
            evidence=evidence,
            coefficients=coefficients,
        ).score

    return {
        "most shared words of the picture": shared_words(document, [text_in(image) for image in document.images]),
        "most shared caption words": shared_words(document, [image.caption or image.alt for image in document.images]),
        "text": weighed("ocr"),
        "caption": weighed("caption"),
        "caption, text": weighed("caption", "ocr"),
        "picture, layout": weighed("picture", "layout"),
        "picture, layout, text": weighed("picture", "layout", "ocr"),
        "picture, layout, caption": weighed(*OTHERS),
        "picture, layout, caption, text": weighed(*OTHERS, "ocr"),
    }


def shared_words(document: Document, texts: Sequence[str | None]) -> FloatMatrix:
    """(S, V) how many stems of a sentence are in the text of an image."""
    sentences = [stems(sentence.text) for sentence in document.sentences]
    own = [stems(text or "") for text in texts]
    return np.array([[len(sentence & text) for text in own] for sentence in sentences], np.float32)


def image_hits(score: FloatMatrix, positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(V,) share of an image's best sentences that are right."""
    best = score == score.max(axis=0)
    return np.asarray((best & positive).sum(axis=0) / best.sum(axis=0), np.float64)


def interval(documents: Sequence[NDArray[np.float64]]) -> str:
    """Mean over the images of all documents, and 95 % of its resamplings."""
    figure = share([hits for hits in documents if len(hits)], lambda hits: (hits.sum(), len(hits)))
    return "{:.1f} ({:.1f}-{:.1f})".format(figure["value"], *figure["interval"])


if __name__ == "__main__":
    main()
