"""Splits texts into pieces as an encoder's tokenizer should, the slow way."""

import gzip
import json
import unicodedata
from functools import cache


@cache
def _pieces(folder):
    settings = json.loads(gzip.decompress((folder / "tokenizer.json.gz").read_bytes()))
    scores = dict(settings["model"]["vocab"])
    return scores, {piece: number for number, piece in enumerate(scores)}


def best_split(word, scores):
    """The split of a word into pieces whose scores have the largest sum; a character that is no piece has its own."""
    unknown = min(scores.values()) - 10
    best: list[tuple[float, list[str | None]]] = [(0.0, [])]
    for end in range(1, len(word) + 1):
        found = [
            (best[start][0] + scores[word[start:end]], [*best[start][1], word[start:end]])
            for start in range(max(0, end - 40), end)
            if word[start:end] in scores
        ]
        if word[end - 1] not in scores:
            found.append((best[end - 1][0] + unknown, [*best[end - 1][1], None]))
        best.append(max(found, key=lambda each: each[0]))
    return best[-1][1]


def split_into_pieces(text, folder, *, ends, unknown):
    """The numbers of a text's pieces, between those of its two ends."""
    scores, numbers = _pieces(folder)
    found = [ends[0]]
    for word in unicodedata.normalize("NFKC", text).split():
        for piece in best_split("▁" + word, scores):
            number = numbers.get(piece, unknown)
            if number != unknown or found[-1] != unknown:  # unknown characters side by side are one
                found.append(number)
    return [*found, ends[1]]
