"""Caption evidence: features that compare the texts of images with sentences, by words and by meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from iconotext.evidence.cells import features_of_chosen
from iconotext.evidence.language import in_script, main_script, no_meaning
from iconotext.evidence.layout import block_ranks
from iconotext.evidence.wording import wording_features
from iconotext.evidence.words import (
    beginning,
    file_words,
    number_of,
    of_texts,
    rareness,
    stem,
    text_words,
    tokens_of,
    words_of,
)
from iconotext.similarity import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.cells import Cells, Features, Ints
    from iconotext.types import Document, FloatMatrix, Image

_HEAD = 5  # words of a caption that mostly name what it shows
_MIXES = np.int64(0x1E3779B97F4A7C15)  # odd; hashes a pair of words to one number, almost without collisions


def word_features(
    cells: Cells,
    ranks: Ints,
    sentences: Sequence[str],
    *text_lists: Sequence[str | None],
    english: NDArray[np.bool_] | None = None,
) -> list[dict[str, FloatMatrix]]:
    """Compute features of the words that a sentence and an image's text have in common.

    A word's rareness is its inverse document frequency (idf) in English textbooks (``words.rareness``), its local idf
    that among the sentences of its document. In a document that is not English the local idf replaces the rareness, and
    words are compared by their first letters.

    Args:
        ranks: (sentences,) number of each sentence's block, from 0 in each document.
        english: (documents,) whether the document is English; default: all are.
        text_lists: Lists of texts, each with one text for every image; None for an image without.

    Returns:
        For each list, name to (cells,) float32: ``count``, number of common words; ``rare``, log(1 + their total
        rareness); ``share``, ``cover`` and ``dice``, this total divided by that of the text, of the sentence and by the
        mean of the two; ``own``, log(1 + their total local idf), where words of several images count less; ``rarest``,
        the largest sum of rareness and local idf; ``both``, log(1 + the total of the products of these two); ``near``,
        ``share`` for the sentence's block; ``first``, log(1 + total over words that the sentence is the first to
        contain); ``pairs``, log(1 + number of common pairs of neighbouring words); ``head``, ``share`` for the text's
        first words.
    """
    is_english = np.ones(len(cells.sentences), np.bool_) if english is None else english
    words = _Words.of(sentences, is_english[cells.of_sentence])
    if not is_english.all():
        words = words._replace(rare=_rareness(cells, words, words, cells.of_sentence, is_english))
    features = []
    for image_texts in text_lists:
        texts = _Words.of([text or "" for text in image_texts], is_english[cells.of_image])
        if not is_english.all():
            texts = texts._replace(rare=_rareness(cells, words, texts, cells.of_image, is_english))
        features.append(_features(cells, ranks, words, texts))
    return features


def _features(cells: Cells, ranks: Ints, words: _Words, texts: _Words) -> dict[str, FloatMatrix]:
    size, images = len(cells.image), len(cells.of_image)
    total = np.bincount(texts.stem_of, texts.rare, images) + 1e-6  # an image without words must not divide by 0
    head_total = np.bincount(texts.stem_of[texts.in_head], texts.rare[texts.in_head], images) + 1e-6
    times = _times(cells.of_image[texts.stem_of], texts.stems)
    hits = _occurrences(cells, words.stems, words.stem_of, texts.stems, texts.stem_of)
    word, holders, starts = texts.rare[hits.entry], hits.lengths, np.cumsum(hits.lengths) - hits.lengths
    sentences = cells.sentences[cells.of_image[texts.stem_of[hits.entry]]]
    idf = np.log1p((sentences - holders + 0.5) / (holders + 0.5))
    at = cells.at(hits.sentence, hits.image)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(at, np.repeat(values, holders), size), np.float64)

    common = summed(word)
    rarest = np.zeros(size)
    np.maximum.at(rarest, at, np.repeat(word + idf, holders))
    # A word counts once in a block: in the first of its cells there.
    blocks = ranks[cells.first_sentence + cells.sentences - 1][cells.of_image] + 1
    first_block = np.cumsum(blocks) - blocks
    block = first_block[hits.image] + ranks[hits.sentence]
    new = np.ones(len(block), np.bool_)
    new[1:] = block[1:] != block[:-1]
    new[starts] = True
    in_block = np.bincount(block[new], np.repeat(word, holders)[new], blocks.sum())
    pairs = _occurrences(cells, *words.pairs, *_once(*texts.pairs))
    pair_at = cells.at(pairs.sentence, pairs.image)
    again = np.zeros(len(pair_at), np.bool_)  # a sentence may hold a pair twice
    again[1:] = pair_at[1:] == pair_at[:-1]
    again[np.cumsum(pairs.lengths) - pairs.lengths] = False
    weights = np.bincount(words.stem_of, words.rare, len(cells.of_sentence))[cells.sentence]
    totals = total[cells.image]
    features = {
        "count": np.bincount(at, minlength=size),
        "rare": np.log1p(common),
        "share": common / totals,
        "cover": common / (weights + 1),
        "dice": 2 * common / (totals + weights + 1),
        "own": np.log1p(summed(idf / np.sqrt(times[hits.entry]))),
        "rarest": rarest,
        "both": np.log1p(summed(word * idf)),
        "near": in_block[first_block[cells.image] + ranks[cells.sentence]] / totals,
        "first": np.log1p(np.bincount(at[starts], word, size)),
        "pairs": np.log1p(np.bincount(pair_at[~again], minlength=size)),
        "head": summed(word * texts.in_head[hits.entry]) / head_total[cells.image],
    }
    return {name: values.astype(np.float32) for name, values in features.items()}


def _times(document: Ints, stems: Ints) -> Ints:
    """Return how often each stem occurs in the images' texts of its document."""
    _, same = np.unique(stems, return_inverse=True)
    # One number for each document and stem, so that one sort counts the pairs.
    _, place, times = np.unique(document * len(stems) + same, return_inverse=True, return_counts=True)
    return np.asarray(times[place], np.int64)


def _once(pairs: Ints, image: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of each image without repetitions."""
    _, same = np.unique(pairs, return_inverse=True)
    _, first = np.unique(image * len(pairs) + same, return_index=True)
    return pairs[first], image[first]


class _Text(NamedTuple):
    """The words of a text as numbers (``number_of``).

    Attributes:
        stems: Different stems, in the order of the text.
        pairs: Pairs of neighbouring words, each hashed to one number.
    """

    stems: Ints
    rare: NDArray[np.float64]
    in_head: NDArray[np.bool_]
    pairs: Ints


@of_texts
def _text(text: str) -> _Text:
    return _parsed(text, stem, tokens_of(text))


@of_texts
def _foreign_text(text: str) -> _Text:
    return _parsed(text, beginning, tuple(map(beginning, words_of(text))))


def _parsed(text: str, stem_of: Callable[[str], str], neighbours: Sequence[str]) -> _Text:
    words = dict.fromkeys(map(stem_of, words_of(text)))
    head = dict.fromkeys(map(stem_of, words_of(" ".join(text.split()[:_HEAD]))))
    tokens = np.array([number_of(word) for word in neighbours], np.int64)
    return _Text(
        np.array([number_of(word) for word in words], np.int64),
        np.array([rareness(word) for word in words], np.float64),
        np.arange(len(words)) < len(head),  # the words are in the order of the text
        tokens[:-1] * _MIXES + tokens[1:],  # overflows, which is meant
    )


class _Words(NamedTuple):
    """The words of many texts, one text after the other; arrays as in ``_Text``.

    Attributes:
        stem_of: Number of the text that each stem comes from.
        pairs: The pairs of words, and the number of the text that each pair comes from.
    """

    stems: Ints
    rare: NDArray[np.float64]
    in_head: NDArray[np.bool_]
    stem_of: Ints
    pairs: tuple[Ints, Ints]

    @classmethod
    def of(cls, texts: Sequence[str], english: NDArray[np.bool_]) -> _Words:
        parsed = [
            _text(text) if is_english else _foreign_text(text) for text, is_english in zip(texts, english, strict=True)
        ]
        stems, rare, in_head, pairs = map(np.concatenate, zip(*parsed, strict=True))
        number = np.arange(len(parsed))
        pair_of = np.repeat(number, [len(text.pairs) for text in parsed])
        return cls(stems, rare, in_head, np.repeat(number, [len(text.stems) for text in parsed]), (pairs, pair_of))


def _rareness(
    cells: Cells, words: _Words, texts: _Words, document: Ints, english: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the rareness of words; in documents that are not English their idf among the document's sentences.

    Args:
        words: The words of the sentences.
        texts: The words of N texts, whose rareness is returned.
        document: (N,) the document of each of these texts.
    """
    distinct, same = np.unique(np.concatenate([words.stems, texts.stems]), return_inverse=True)
    document_of = document[texts.stem_of]
    document_stems, holders = np.unique(
        cells.of_sentence[words.stem_of] * len(distinct) + same[: len(words.stems)], return_counts=True
    )
    keys = document_of * len(distinct) + same[len(words.stems) :]
    at = np.minimum(np.searchsorted(document_stems, keys), len(document_stems) - 1)
    count = np.where(document_stems[at] == keys, holders[at], 0) if len(document_stems) else np.zeros(len(keys))
    size = cells.sentences[document_of]
    # Scaled so that a word of a single sentence is as rare as an unknown English word.
    idf, most = (np.log1p((size - n + 0.5) / (n + 0.5)) for n in (count, 1))
    return np.where(english[document_of], texts.rare, rareness("") * np.minimum(idf / most, 1))


class _Occurrences(NamedTuple):
    """The occurrences of the images' words in sentences: N words occur, in M pairs (word, sentence).

    Attributes:
        entry: (N,) index of each word that at least one sentence of the same document contains.
        lengths: (N,) number of sentences that contain it.
        image: (M,) number of the image of each pair; the pairs of one word follow each other.
        sentence: (M,) number of the sentence of each pair.
    """

    entry: Ints
    lengths: Ints
    image: Ints
    sentence: Ints


def _occurrences(cells: Cells, words: Ints, sentence: Ints, image_words: Ints, image: Ints) -> _Occurrences:
    distinct, same = np.unique(image_words, return_inverse=True)  # replace hashes by small numbers
    places = np.minimum(np.searchsorted(distinct, words), len(distinct) - 1)
    hits = np.flatnonzero(distinct[places] == words) if len(distinct) else np.zeros(0, np.int64)
    keys = cells.of_sentence[sentence[hits]] * len(distinct) + places[hits]
    order = np.argsort(keys, kind="stable")
    keys, sentence = keys[order], sentence[hits][order]
    image_keys = cells.of_image[image] * len(distinct) + same
    # The keys are sorted: the sentences that hold a word of the same document stand between the two places.
    begin = np.searchsorted(keys, image_keys)
    lengths = np.searchsorted(keys, image_keys, side="right") - begin
    entry = np.flatnonzero(lengths)
    begin, lengths = begin[entry], lengths[entry]
    holders = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - begin, lengths)
    return _Occurrences(entry, lengths, np.repeat(image[entry], lengths), sentence[holders])


PROBE = "A photograph shows what the figure is about."
"""The vector of this sentence shows whether an encoder is the one that the matcher was trained on."""

_SAME = 0.99  # cosine of two vectors of ``PROBE``: far above it for the same encoder, far below for another one
_TYPICAL_MEAN, _TYPICAL_SPREAD = 0.2, 0.14  # of that encoder's (MiniLM's) cosines within a document


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """The trained weights that compare captions with sentences; d dimensions of the encoder, r of the projections.

    Attributes:
        captions: (r, d) projection of captions.
        sentences: (r, d) projection of sentences.
        citing: (d,) direction of the vectors of sentences that cite figures.
        scale: (3,) weights of the cosine, of the projections' product and of ``citing``.
        probe: (d,) vector of ``PROBE``.
        cosine: Mean and standard deviation of another encoder's cosines, which are then used alone; None for the
            encoder that the matcher was trained on.
    """

    captions: FloatMatrix
    sentences: FloatMatrix
    citing: FloatMatrix
    scale: FloatMatrix
    probe: FloatMatrix
    cosine: tuple[float, float] | None = None

    def fitting(self, probe: FloatMatrix, centre: float | np.float32, spread: float | np.float32) -> Matcher:
        """Return the matcher for an encoder.

        Args:
            probe: (d',) the encoder's vector of ``PROBE``.
            centre: Mean cosine among the sentences of the document; used for another encoder.
            spread: Standard deviation of these cosines.
        """
        same = probe.shape == self.probe.shape and float(probe @ self.probe) > _SAME
        return self if same else replace(self, cosine=(float(centre), float(spread)))

    def match(self, sentences: FloatMatrix, captions: FloatMatrix) -> FloatMatrix:
        """Return (S, V) log-odds that a sentence, (S, d), goes with a caption, (V, d)."""
        cosines = sentences @ captions.T
        if self.cosine is not None:
            centre, spread = self.cosine
            cosines = _TYPICAL_MEAN + _TYPICAL_SPREAD * (cosines - np.float32(centre)) / np.float32(spread)
            return np.asarray(self.scale[0] * cosines, np.float32)
        learned = (sentences @ self.sentences.T) @ (captions @ self.captions.T).T
        return np.asarray(self.scale[0] * cosines + self.scale[1] * learned, np.float32)

    def cites(self, sentences: FloatMatrix) -> FloatMatrix:
        """Return (S,) how similar each sentence, (S, d), is to sentences that cite figures; 0 for another encoder."""
        if self.cosine is not None:
            return np.zeros(len(sentences), np.float32)
        return np.asarray(self.scale[2] * (sentences @ self.citing), np.float32)


WEIGHTS = ("captions", "sentences", "citing", "scale", "probe")
"""The arrays of a matcher's file."""


@cache
def load_matcher() -> Matcher:
    """Return the matcher in the package."""
    from safetensors.numpy import load_file

    with as_file(files("iconotext.evidence").joinpath("matcher.safetensors")) as path:
        weights = load_file(path)
    captions, sentences, citing, scale, probe = (weights[name].astype(np.float32) for name in WEIGHTS)
    return Matcher(captions, sentences, citing, scale, probe)


Encode = Callable[[Sequence[str]], "FloatMatrix"]
"""Texts to (n, d) float32 unit vectors."""

Field = Literal["caption", "alt", "lone"]
"""The caption; the alt text beside a caption; the alt text or file name of an image without a caption."""

_SAMPLE = 256  # sentences of a document that are sampled for mean and spread: 30,000 pairs are enough
_TYPICAL_WEIGHT = 20  # number of pairs of sentences for which the typical values count

_FILE_LIKE = re.compile(r"^\S*$|\.(jpe?g|png|gif|webp|avif|svg)$|^[\d\W_]*$", re.IGNORECASE)


def texts_of(image: Image) -> dict[Field, str]:
    """Return the texts of an image, by field; empty if it has none."""
    caption = (image.caption or "").strip()
    alt = (image.alt or "").strip()
    if alt and _FILE_LIKE.search(alt):  # some editors put the file name there
        alt = text_words(alt) or ""
    fields: dict[Field, str] = {}
    if caption:
        fields["caption"] = caption
        if alt and alt != caption:
            fields["alt"] = alt
    elif lone := alt or file_words(image.source):
        fields["lone"] = lone
    return fields


def compared_text(image: Image) -> str | None:
    """Return the text of an image that is compared by meaning: its caption, else its alt text, else its file name."""
    fields = texts_of(image)
    return fields.get("caption") or fields.get("lone")


class Reading(NamedTuple):
    """The vectors of a document's texts, or the function that computes them.

    Attributes:
        encode: Texts to unit vectors.
        sentences: (S, d) vectors of the sentences, if they have been encoded already.
        matcher: Compares them with captions; None for ``load_matcher()``.
    """

    encode: Encode
    sentences: FloatMatrix | None = None
    matcher: Matcher | None = None


class EvidenceInput(NamedTuple):
    """The input from which the evidence about one document is computed, besides the document.

    Attributes:
        reading: The vectors of its texts.
        similarity: (S, V) cosines of an encoder; None without picture evidence.
    """

    reading: Reading
    similarity: FloatMatrix | None = None


def caption_evidence(documents: Sequence[Document], inputs: Sequence[EvidenceInput]) -> list[Features]:
    """Return the ``caption_features`` of the documents whose images have texts."""
    return features_of_chosen(
        documents,
        [any(map(texts_of, document.images)) for document in documents],
        lambda batch, cells, numbers: caption_features(batch, cells, [inputs[n].reading for n in numbers]),
    )


def caption_features(
    documents: Sequence[Document], cells: Cells, readings: Sequence[Reading]
) -> dict[str, FloatMatrix]:
    """Compute features that compare the texts of every image with every sentence.

    Returns:
        Name to (cells,) float32; 0 where an image has no text. If the encoder does not know a document's language, a
        text in another script does not count: an English caption in a Chinese text. ``caption.*``: features of
        ``compared`` for the ``compared_text``. ``texts.*``: features of ``word_features`` for all texts of an image
        together. ``looks.*``: features of ``reference.wording_features``.
    """
    texts = [
        {field: text for field, text in texts_of(image).items() if script is None or in_script(text, script)}
        for document, reading in zip(documents, readings, strict=True)
        for script in [main_script(document) if reading.encode is no_meaning else None]
        for image in document.images
    ]
    compared_texts = [fields.get("caption") or fields.get("lone") for fields in texts]
    all_texts = [" . ".join(fields.values()) or None for fields in texts]
    features = compared(documents, cells, compared_texts, readings, name="caption", also=all_texts)
    present = np.array([text is not None for text in compared_texts])[cells.image]
    columns = wording_features(documents)
    wording = np.stack(list(columns.values()))[:, cells.sentence] * present
    features |= zip((f"looks.{name}" for name in columns), wording, strict=True)
    features["looks.cites"] = features.pop("caption.cites") * present
    return features


def compared(
    documents: Sequence[Document],
    cells: Cells,
    texts: Sequence[str | None],
    readings: Sequence[Reading],
    *,
    name: str,
    also: Sequence[str | None] | None = None,
) -> dict[str, FloatMatrix]:
    """Compute features that compare one text for each image with every sentence.

    Args:
        texts: One for each image of the documents; None for an image without text.
        also: Longer texts, one for each image; only their words are compared, with the prefix ``texts.``.

    Returns:
        Name to (cells,) float32, 0 where an image has no text: the features of ``word_features``, and ``cos``, cosine
        as a z score against the cosines among the sentences, since encoders differ in their mean and spread; ``block``,
        the same for the mean vector of the sentence's block; ``match``, score of the matcher minus its mean over the
        sentences; ``rival``, ``match`` minus that of the best other image; ``cites``, how similar the sentence is to
        sentences that cite figures.
    """
    present = np.array([bool(text) for text in texts])
    ranks = block_ranks(documents)
    vectors = list(_vectors(documents, cells, texts, readings))
    sentences = [sentence_vectors for sentence_vectors, _, _ in vectors]
    centre, spread = _scales(sentences)
    means, block_of = _block_means(sentences, cells, ranks)
    cos, block_cos, match, cites = [], [], [], []
    for number, (text_vectors, images, probe) in enumerate(vectors):
        matcher = readings[number].matcher or load_matcher()
        fitted = matcher.fitting(probe, centre[number], spread[number])
        cos.append(text_vectors @ images.T)
        block_cos.append((means[number] @ images.T)[block_of[number]])
        match.append(fitted.match(text_vectors, images))
        cites.append(fitted.cites(text_vectors))
    has_text, document_of = present[cells.image], cells.of_image[cells.image]
    matched = cells.joined(match) * has_text
    matched -= cells.image_means(matched).astype(np.float32)[cells.image]
    features = {
        f"{name}.cos": (cells.joined(cos) - centre[document_of]) / spread[document_of] * has_text,
        f"{name}.block": (cells.joined(block_cos) - centre[document_of]) / spread[document_of] * has_text,
        f"{name}.match": matched,
        f"{name}.rival": _rival(cells, matched, present),
        f"{name}.cites": np.concatenate(cites)[cells.sentence],
    }
    sentence_texts = [sentence.text for document in documents for sentence in document.sentences]
    image_texts = [texts] if also is None or also == texts else [texts, also]
    english = np.array([document.language == "en" for document in documents])
    words = word_features(cells, ranks, sentence_texts, *image_texts, english=english)
    features |= {f"{name}.{key}": value for key, value in words[0].items()}
    if also is not None:
        features |= {f"texts.{key}": value for key, value in words[-1].items()}
    return features


def _vectors(
    documents: Sequence[Document], cells: Cells, texts: Sequence[str | None], readings: Sequence[Reading]
) -> Iterator[tuple[FloatMatrix, FloatMatrix, FloatMatrix]]:
    """Yield for each document the vectors of its sentences, its images' texts, and ``PROBE``."""
    firsts = cells.first_image.tolist()
    by_document = [texts[first : first + len(d.images)] for first, d in zip(firsts, documents, strict=True)]
    texts_by: dict[Encode, dict[str, None]] = {}
    for document, image_texts, reading in zip(documents, by_document, readings, strict=True):
        distinct = texts_by.setdefault(reading.encode, {})
        if reading.sentences is None:
            distinct.update(dict.fromkeys(sentence.text for sentence in document.sentences))
        distinct.update(dict.fromkeys(text for text in image_texts if text))
    vectors_by = {encode: encode([*distinct, PROBE]) for encode, distinct in texts_by.items()}
    rows_by = {encode: {text: row for row, text in enumerate(distinct)} for encode, distinct in texts_by.items()}
    for document, image_texts, (encode, sentences, _) in zip(documents, by_document, readings, strict=True):
        vectors, row = vectors_by[encode], rows_by[encode]
        if sentences is None:
            sentences = vectors[[row[sentence.text] for sentence in document.sentences]]
        images = vectors[[row[text] if text else -1 for text in image_texts]]  # any row, which becomes 0 below
        if not all(image_texts):
            images[[not text for text in image_texts]] = 0
        yield sentences, images, vectors[-1]


def _scales(sentences: Sequence[FloatMatrix]) -> tuple[FloatMatrix, FloatMatrix]:
    """Return (documents,) mean and standard deviation of the cosines among the sentences of each document.

    With few sentences they are drawn towards MiniLM's typical values. For vectors of zeros they are 0 and 1.
    """
    samples = [vectors[:: max(1, -(-len(vectors) // _SAMPLE))] for vectors in sentences]
    sizes = np.array([len(sample) for sample in samples])
    # The cosine matrices of all documents lie one after the other in one array: where each begins, and its diagonal.
    begin = np.cumsum(sizes**2) - sizes**2
    cosines = np.concatenate([(sample @ sample.T).ravel() for sample in samples]).astype(np.float64)
    rows = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    diagonal = np.repeat(begin, sizes) + rows * (np.repeat(sizes, sizes) + 1)
    first, total = np.cumsum(sizes) - sizes, sizes * (sizes - 1) / 2 + _TYPICAL_WEIGHT

    def of_pairs(symmetric: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (documents,) the sums below the diagonals."""
        return np.asarray(np.add.reduceat(symmetric, begin) - np.add.reduceat(symmetric[diagonal], first)) / 2

    centre = (of_pairs(cosines) + _TYPICAL_WEIGHT * _TYPICAL_MEAN) / total
    squares = np.square(cosines - np.repeat(centre, sizes**2))
    variance = (of_pairs(squares) + _TYPICAL_WEIGHT * _TYPICAL_SPREAD**2) / total
    nonzero = np.add.reduceat(cosines[diagonal], first) > 0
    return np.where(nonzero, centre, 0).astype(np.float32), np.where(nonzero, np.sqrt(variance), 1).astype(np.float32)


def _block_means(
    sentences: Sequence[FloatMatrix], cells: Cells, ranks: Ints
) -> tuple[Sequence[FloatMatrix], Sequence[Ints]]:
    """Return for each document the unit mean vector of each block, and the block number of each sentence."""
    block_numbers = np.split(ranks, cells.first_sentence[1:])
    begins = np.diff(ranks, prepend=-1) != 0
    begins[cells.first_sentence] = True
    blocks = np.cumsum([int(numbers[-1]) + 1 for numbers in block_numbers])[:-1]
    if len({vectors.shape[1] for vectors in sentences}) > 1:  # some in a language that the encoder does not know
        parts = zip(sentences, np.split(begins, cells.first_sentence[1:]), strict=True)
        return [_directions(vectors, begin) for vectors, begin in parts], block_numbers
    return np.split(_directions(np.concatenate(sentences), begins), blocks), block_numbers


def _directions(vectors: FloatMatrix, begins: NDArray[np.bool_]) -> FloatMatrix:
    """Return unit vectors of the sums of consecutive rows; ``begins`` marks the first row of each sum."""
    return unit_rows(np.add.reduceat(vectors, np.flatnonzero(begins), axis=0))


def _rival(cells: Cells, score: FloatMatrix, present: NDArray[np.bool_]) -> FloatMatrix:
    """Return each cell's score minus the best score of another image for its sentence; 0 if only one has a text."""
    has_text = present[cells.image]
    text_scores = np.where(has_text, score, -np.inf)
    best = cells.sentence_tops(text_scores)[cells.sentence]
    is_best = text_scores == best
    tied = cells.sentence_sums(is_best)[cells.sentence] > 1
    second = cells.sentence_tops(np.where(is_best, -np.inf, text_scores))[cells.sentence]
    other = np.where(is_best & ~tied, second, best)
    has_text &= np.isfinite(other)
    return np.subtract(score, other, out=np.zeros_like(score), where=has_text)
