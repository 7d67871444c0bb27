"""Documents for property tests, with odd characters and empty parts; rows of OBELICS; small pictures."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from iconotext.corpus.formats.obelics import NEXT_DOCUMENT
from iconotext.types import Document, Image, Sentence
from tests.support.images import noise

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/\\."), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
NOT_KEPT = {
    "file": "found by the source",
    "block": "only sentences have blocks there",
    "anchors": "sentences do not have the targets there that would name them",
    "page": "a place in the source",
    "box": "a place in the source",
    "lines": "read from the picture, if asked for",
    "problem": "found anew",
    "at": "a place in the source",
    "decorative": "for the alternative texts of the source",
    "member": "found by the source",
    "context": "from another document",
}
"""Fields of an image that corpora do not keep, and why; all others come back from our own formats."""
KEPT_TEXTS = [field.name for field in fields(Image) if field.name not in {"source", "position", *NOT_KEPT}]
KNOWN = ("title", "language", "sentence_kind", "relations")


@st.composite
def documents(draw, *, splits=(None, "train", "validation", "test"), plain=False, links="any"):
    """Up to four of them, with ids of their own; ``plain`` without what only our own format keeps."""
    ids = draw(st.lists(NAMES.filter(lambda name: name != "na" and "#" not in name), max_size=4, unique=True))
    return [_document(draw, name, splits, plain, links) for name in ids]


def _document(draw, name: str, splits: Any, plain: bool, links: str) -> Document:
    n, m = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    layout = not plain and draw(st.booleans())
    sentences = []
    for _ in range(n):
        level = None if plain else draw(st.sampled_from([None, None, 1, 6]))
        block = draw(st.integers(0, 9)) if layout else None
        sentences.append(Sentence(draw(TEXTS), block, "heading" if level else "paragraph", level=level))
    texts = {} if plain else {name: st.none() | TEXTS for name in KEPT_TEXTS}
    image = st.builds(Image, NAMES, position=st.integers(0, n) if layout else st.none(), **texts)
    images = [draw(image) for _ in range(m)]
    pairs = [(s, i) for s in range(n) for i in range(m)]
    found = draw(st.none() | st.lists(st.sampled_from(pairs), unique=True)) if pairs else draw(st.none() | st.just([]))
    if links == "one an image" and found is not None:
        found = list({image: (sentence, image) for sentence, image in found}.values())
    meta = {} if plain else draw(st.dictionaries(NAMES.filter(lambda key: key not in KNOWN), JSON, max_size=2))
    if not plain and draw(st.booleans()):
        meta["relations"] = draw(st.dictionaries(NAMES, st.none() | st.booleans(), max_size=2))
    return Document(
        id=name,
        sentences=tuple(sentences),
        images=tuple(images),
        links=None if found is None else tuple(sorted(found)),
        split=draw(st.sampled_from(splits)),
        meta=meta,
    )


SCHEMA = pa.schema(
    [
        ("images", pa.list_(pa.string())),
        ("metadata", pa.string()),
        ("general_metadata", pa.string()),
        ("texts", pa.list_(pa.string())),
    ]
)


def entry(address, alt=None):
    found = {"document_url": "https://a.example/p", "unformatted_src": address, "src": address, "original_width": 640}
    return found | ({"alt_text": alt} if alt else {})


def page(*pieces, url="https://a.example/p", **change):
    """A row: images are entries of metadata, texts are texts."""
    row = {
        "images": [piece["src"] if isinstance(piece, dict) else None for piece in pieces],
        "metadata": json.dumps([piece if isinstance(piece, dict) else None for piece in pieces]),
        "general_metadata": json.dumps({"url": url, "warc_filename": "crawl/1.warc.gz"} if url else {}),
        "texts": [piece if isinstance(piece, str) else None for piece in pieces],
    }
    return row | change


def table(path, *rows, schema=SCHEMA, **options):
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path, **options)
    return path


PAGE = page(
    "A title\n\nFirst sentence. Second one, of 3.5 metres!\n \nÜber  ünd\nover.",
    entry("https://a.example/1.jpg", "A caf\u00e9"),
    entry("https://a.example/2.jpg"),
    f"More.\n\n{NEXT_DOCUMENT}\n\nAnother page.",
    entry("https://a.example/3.jpg", " "),
)


def png(seed=0, kind="png"):
    return noise(seed, (9, 8), kind)
