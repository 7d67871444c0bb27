"""Chunks of several programs against the document that they were made from; all counts were computed by hand."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iconotext.check import CheckSettings, check
from iconotext.check.chunks import FORMATS, compared, counts, read_chunks
from iconotext.check.rules import RULES
from iconotext.errors import SettingError
from iconotext.report.as_excerpts import row as row_of
from iconotext.report.chunks import chunks as our_chunks
from iconotext.types import Document, Image, Link, LinkedDocument, Sentence
from tests.support import program
from tests.support.articles import ARTICLE

TEXTS = ["The kettle whistles on the stove.", "Tea is *ready*.", "A cat sleeps on the chair.", "Nobody wakes it."]
KETTLE, CAT, MAP = "img/kettle.png", "img/cat.png", "data:image/png;base64,AAAA"
HOUSE = Path("docs/house.md")


def linked(path=HOUSE):
    """The kettle belongs to the first sentence, the cat to the third; the fourth is too unsure to count."""
    sentences = [Sentence(text, block=n) for n, text in enumerate(TEXTS)]
    images = [
        Image(KETTLE, alt="Steam"),
        Image(CAT, caption="Our cat at noon"),
        Image(MAP),
        Image("gone.png", problem="gone"),
    ]
    images.append(Image("line.svg", decorative=True))
    links = [Link(0, 0, 0.9, 0.9, 0.9, {}), Link(2, 1, 0.8, 0.8, 0.8, {}), Link(3, 1, 0.3, 0.3, 0.3, {})]
    document = Document(path.name, tuple(sentences), tuple(images), source=path)
    return LinkedDocument(document, tuple(links), np.zeros((4, 5), np.float32), "by hand")


def fates_of(tmp_path, rows, name="chunks.json", documents=(HOUSE,)):
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows))
    return compared(read_chunks(path), {each: [linked(each)] for each in documents})


def broken(fates):
    rules = [rule for rule in RULES if rule.about == "chunks"]
    return {f.picture.source: [r.name for r in rules if r.function(f, Path("c"), CheckSettings())] for f in fates}


def packed(*elements):
    return base64.b64encode(zlib.compress(json.dumps(elements).encode())).decode()


OUR = [
    {"document": "house.md", "chunk": 0, "text": " ".join(TEXTS[:2]), "images": [{"image": 0, "source": KETTLE}]},
    {
        "document": "house.md",
        "chunk": 1,
        "text": " ".join(TEXTS[2:]),
        "images": [{"image": 1, "source": CAT}, {"image": 2, "source": "data:image/png;base64"}],
    },
]
ORIGIN = {"origin": {"filename": "house.html"}}
DOCLING = [
    {
        "text": " ".join(TEXTS[:2]),
        "meta": {"doc_items": [{"self_ref": "#/texts/0", "parent": {"$ref": "#/body"}}], **ORIGIN},
    },
    {"text": "Steam", "meta": {"doc_items": [{"self_ref": "#/pictures/0", "label": "picture"}], **ORIGIN}},
    {
        "text": " ".join(TEXTS[2:]),
        "meta": {
            "doc_items": [{"self_ref": "#/texts/5", "label": "caption", "parent": {"$ref": "#/pictures/1"}}],
            **ORIGIN,
        },
    },
]
WHOLE = [
    {
        "schema_name": "DoclingDocument",
        "name": "house",
        "texts": [{"text": text} for text in TEXTS],
        "pictures": [{"self_ref": "#/pictures/0"}, {"self_ref": "#/pictures/2"}],
    }
]
UNSTRUCTURED = [
    {
        "type": "CompositeElement",
        "text": " ".join(TEXTS[:2]),
        "metadata": {
            "filename": "house.md",
            "orig_elements": packed({"type": "Image", "text": "Steam", "metadata": {"image_url": KETTLE}}),
        },
    },
    {"type": "Image", "text": "", "metadata": {"filename": "house.md", "image_path": "out/cat.png"}},
    {"type": "NarrativeText", "text": TEXTS[2], "metadata": {"filename": "house.md"}},
]
NODES = [
    {
        "id_": "1",
        "metadata": {"file_path": "/data/docs/house.md"},
        "relationships": {},
        "text": f"{TEXTS[0]} ![Steam]({KETTLE})",
    },
    {
        "id_": "2",
        "metadata": {"file_name": "house.md"},
        "relationships": {},
        "text_resource": {"text": " ".join(TEXTS)},
        "image_path": "a/kettle.png",
    },
    {"id_": "3", "metadata": {}, "relationships": {}, "text": f"{TEXTS[1]} <img alt='' src='{KETTLE}'>"},
]
LANGCHAIN = [
    {
        "lc": 1,
        "type": "constructor",
        "kwargs": {
            "page_content": f"{TEXTS[0]} Tea is [ready](tea.html). A cat sleeps",
            "metadata": {"source": "house.md"},
        },
    },
    {"page_content": "on the chair. Our cat at noon. Nobody wakes it.", "metadata": {"source": "house.md"}},
]


@pytest.mark.parametrize(
    ("rows", "expected", "kettle", "cat", "map_"),
    [
        # pictures, with a sentence, cut from it, no sentence, lost, twice
        (OUR, (3, 2, 0, 1, 0, 0), [], [], []),
        (DOCLING, (3, 1, 1, 0, 1, 0), ["chunk-wrong"], [], ["chunk-lost"]),
        (WHOLE, (3, 1, 0, 1, 1, 0), [], ["chunk-lost"], []),
        (UNSTRUCTURED, (3, 1, 1, 0, 1, 0), [], ["chunk-wrong"], ["chunk-lost"]),
        (NODES, (3, 1, 0, 0, 2, 1), ["chunk-twice"], ["chunk-lost"], ["chunk-lost"]),
        (LANGCHAIN, (3, 0, 1, 0, 2, 0), ["chunk-lost"], ["chunk-cut"], ["chunk-lost"]),
    ],
)
def test_what_became_of_each_picture(tmp_path, rows, expected, kettle, cat, map_):
    for name in ("chunks.json", "chunks.jsonl"):
        fates, strange = fates_of(tmp_path, rows, name)
        assert tuple(counts(fates).values()) == expected
        assert broken(fates) == {KETTLE: kettle, CAT: cat, MAP: map_}
        assert strange == []


def test_every_kind_has_an_example():
    examples: list[Any] = [OUR[0], DOCLING[0], WHOLE[0], UNSTRUCTURED[0], NODES[0], LANGCHAIN[1]]
    assert all(row.keys() >= set(fields) for row, fields in zip(examples, FORMATS.values(), strict=True))


def test_markdown_is_a_chunk_for_each_file(tmp_path):
    folder = tmp_path / "house"
    folder.mkdir()
    (folder / "1.md").write_text(f"**The kettle** whistles on the\nstove. ![Steam](../{KETTLE} 'Hot')\n")
    (folder / "2.md").write_text(f"A cat *sleeps* on [the chair](chair.md).\n\n![](<{KETTLE}>)\n")
    for path, expected in [(folder, (3, 1, 0, 0, 2, 1)), (folder / "2.md", (3, 0, 1, 0, 2, 0))]:
        fates, _ = compared(read_chunks(path), {HOUSE: [linked()]})
        assert tuple(counts(fates).values()) == expected


def test_a_chunk_belongs_to_the_document_that_it_names(tmp_path):
    rows = [
        {"page_content": f"{TEXTS[0]} ![]({KETTLE})", "metadata": {"source": name}}
        for name in ("b/house.md", "house.pdf", "shed.md", "barn.md")
    ]
    rows.append({"page_content": TEXTS[2], "metadata": {}})
    fates, strange = fates_of(tmp_path, rows, documents=(Path("a/house.md"), Path("b/house.md"), Path("shed.html")))
    assert [fate.homes for fate in fates if fate.picture.source == KETTLE] == [[], ["row 1"], ["row 3"]]
    # Two documents may be house.pdf, none is barn.md, and the last row names none.
    assert [piece.name for piece in strange] == ["row 2", "row 4", "row 5"]


def test_an_address_that_two_pictures_may_have_is_that_of_neither(tmp_path):
    images = (Image("a/1.png"), Image("b/1.png"), Image("b/1.png"))
    both = LinkedDocument(Document("x", (Sentence("Yes."),), images), (), np.zeros((1, 3), np.float32), "by hand")
    (tmp_path / "c.md").write_text("![](1.png)")
    (tmp_path / "d.md").write_text("![](out/b/1.png)")
    homes = [fate.homes for name in "cd" for fate in compared(read_chunks(tmp_path / f"{name}.md"), {HOUSE: [both]})[0]]
    assert homes == [[], [], [], [], ["d.md"], ["d.md"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no chunks in it"),
        (b"[]", "no chunks in it"),
        (b"no JSON", "not JSON"),
        (b'{"page_content": "", "metadata": {}}\n{"page', "row 2 is not JSON"),
        (
            b'[{"page_content": "", "metadata": {}}, 3]',
            "row 2 is no chunk that is known: there are chunks of iconotext",
        ),
        (b'{"words": 3}', "row 1 is no chunk that is known"),
        (b"\xff\xfe\xff", "decode"),
        (b"[" * 100_000, "nested too deeply"),
        (json.dumps({"type": "", "text": "", "metadata": {"orig_elements": "AAAA"}}).encode(), "Error -3"),
    ],
)
def test_hostile_chunks(tmp_path, content, message):
    path = tmp_path / "chunks.jsonl"
    path.write_bytes(content)
    with pytest.raises(SettingError, match=message):
        read_chunks(path)


def test_a_row_without_text_or_with_wrong_types_has_no_pictures(tmp_path):
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    rows = [
        {"id_": 3, "metadata": [], "relationships": None, "images": deep},
        {"text": 5, "meta": {"doc_items": [None, "#/pictures/0"], "image": "/" * 1_000_000}},
    ]
    fates, strange = fates_of(tmp_path, rows)
    assert (counts(fates)["lost"], strange) == (3, [])


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(SettingError, match="No such file"):
        read_chunks(tmp_path / "none.jsonl")
    with pytest.raises(SettingError, match="no chunks in it"):
        read_chunks(tmp_path)


def test_the_command(tmp_path, picture, monkeypatch):
    picture("docs/one.png", seed=1)
    picture("docs/two.png", seed=2)
    (tmp_path / "docs/article.md").write_text(ARTICLE)
    monkeypatch.chdir(tmp_path)
    bare = {"page_content": "A cat sleeps on the roof of the depot.", "metadata": {"source": "docs/article.md"}}
    Path("bare.jsonl").write_text(f"{json.dumps(bare)}\n{json.dumps(bare | {'metadata': {'source': 'other.md'}})}\n")
    checked = check(["docs"], CheckSettings(rules=("chunk",)), chunks=[Path("bare.jsonl")])
    assert [(f.rule, f.source, f.place.line) for f in checked.findings] == [
        ("chunk-lost", "one.png", 5),
        ("chunk-lost", "two.png", 12),
    ]
    assert 'its sentence "A cat sleeps on the roof of the depot." (' in checked.findings[1].message
    assert checked.unread == ("bare.jsonl: 1 chunk of no checked document, such as row 2 (other.md)",)
    printed = program.printed("check", "docs", "--rules", "chunk", "--chunks", "bare.jsonl", status=1).splitlines()
    head = "    chunks  pictures  with a sentence  cut from it  no sentence  lost  twice"
    assert (
        printed[printed.index(head) + 1]
        == "bare.jsonl         2                0            0            0     2      0"
    )
    program.run(
        "check", "docs", "--rules", "chunk", "--chunks", "bare.jsonl", "--json", "--sarif", "found.sarif", status=1
    )
    (run,) = json.loads(Path("found.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == ["chunk-lost", "chunk-lost"]


def test_our_own_chunks_lose_nothing(tmp_path):
    rows = [json.loads(json.dumps(row_of(chunk.slim()))) for chunk in our_chunks(linked(), 10)]
    fates, _ = fates_of(tmp_path, rows)
    assert tuple(counts(fates).values()) == (3, 2, 0, 1, 0, 0)
