"""The weights of context evidence: what a picture's own page says of it, fitted on pages that were rewritten.

The pages: cited figures of books and guides (documents/cited), of OpenStax (documents/textbook, documents/cited_text;
captions only), whose marks of citation are removed; recipes, build logs and home logs, whose links are those of their
author's layout. ``rewritten.py`` takes out pictures and headings and changes the text. Each picture comes with its
caption and alternative text, without number, and with its context: the sentences that its page links it with, by
caption and layout. A text also gets some pictures of other publishers' pages, which belong nowhere.

Everything else that is fitted (the matcher of captions, the weights of caption and layout, the habits of places) has
not seen the publisher whose pages it reads: OpenStax, Gutenberg, or the books of a generator. Recipes and logs are in
no fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fitting.cited_documents import Cited, variants
from fitting.evidence import DECIDE, FILES, captions, collection_of, few, note, part_of, publisher, split
from fitting.fit_evidence import FIRST, Example, common_habit, dump_coefficients, example, fit_subset, with_habits
from fitting.fit_logit import fit_logit
from fitting.fit_matcher import fit_matcher
from fitting.rewritten import CHANGES, OF_TWO, Rewritten, paragraph, rewritten, whole_sentence, without_place
from iconotext.corpus.store import read_corpus
from iconotext.decide.combine import EXPLICIT_PRECISION, Coefficients, combine, load_coefficients, subset_name
from iconotext.evidence.caption import PROBE, Encode, Matcher, Reading
from iconotext.evidence.gather import DocumentEvidence, gather_evidence
from iconotext.features import FeatureCache, cached_text, load_text_backbone
from iconotext.place.pictures import from_elsewhere
from iconotext.system.files import write_text
from iconotext.types import Document, LinkedDocument, LinkedSentence

ORGANIC = ("cooking", "garden_home", "build")
MOST = 12
"""Pages of a book, so that books of many sizes count nearly alike."""

FOREIGN = 0.25
"""Pictures of other publishers' pages in a text, for each of its own."""

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


def make(data: Path, work: Path) -> dict[str, Any]:
    """Write the entry ``context`` of ``coefficients.json``."""
    encode = encoder()
    pages, unseen = linked_pages(data / "documents", encode)
    own = [text for text in rewritten_texts(pages, unseen, encode) if text.publisher not in ORGANIC]
    fitted = {**load_coefficients(), "context": fit(own)}
    write_text(DECIDE / "coefficients.json", dump_coefficients(fitted), force=True)
    return {"texts": len(own)}


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
