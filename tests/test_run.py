"""Documents that are linked many at a time are linked as one by one."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iconotext import Document, Image, Linker, LinkSettings, Sentence, read_all, run
from iconotext.encoders.encoder import untrained_encoder
from iconotext.errors import DocumentError, ImageError
from iconotext.evidence.kinds import DEFAULT_EVIDENCE
from iconotext.features.backbone import ImageBackbone, ImageFeatures, TextBackbone
from iconotext.read import Failure
from iconotext.report.as_json import json_lines
from iconotext.system.threads import THREADS

WORDS = "river bridge engine valve harbour meadow lantern copper needle orchard".split()
DIM = 16


def vector(content: bytes) -> np.ndarray:
    made = np.random.default_rng(list(hashlib.sha256(content).digest())).standard_normal(DIM).astype(np.float32)
    return made / np.linalg.norm(made)


class Counting:
    """Backbones of one space, whose vectors depend on nothing but what is encoded; they remember what they were asked."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []
        self.pictures: list[list[bytes]] = []

    def read(self, texts):
        self.texts.append(list(texts))
        return np.array([vector(text.encode()) for text in texts], np.float32).reshape(-1, DIM)

    def look(self, files, *, regions=False):
        self.pictures.append(list(files))
        problems = tuple("broken" if file == b"broken" else None for file in files)
        rows = [np.zeros(DIM) if problem else vector(file) for file, problem in zip(files, problems, strict=True)]
        return ImageFeatures(np.array(rows, np.float32).reshape(-1, DIM), problems=problems)

    def linker(self, **settings) -> Linker:
        encoder = untrained_encoder(
            "counting", TextBackbone("same", DIM, self.read, frozenset(("en",))), ImageBackbone("same", DIM, self.look)
        )
        return Linker(encoder, LinkSettings(relations="none", **settings))


def collection(n: int = 12) -> list[Document]:
    rng = np.random.default_rng(5)
    made = []
    for number in range(n):
        texts = [" ".join(rng.choice(WORDS, 4)).capitalize() + "." for _ in range(int(rng.integers(1, 9)))]
        images = [
            Image(
                f"{j}.png",
                b"broken" if (number, j) == (n // 2, 0) else bytes(rng.integers(0, 9, 3, np.uint8)),
                caption=" ".join(rng.choice(WORDS, 3)) if rng.random() < 0.7 else None,
                block=int(rng.integers(len(texts))),
                position=int(rng.integers(len(texts))),
            )
            for j in range(int(rng.integers(0, 4)))
        ]
        made.append(Document(f"d{number}", tuple(Sentence(t, i) for i, t in enumerate(texts)), tuple(images)))
    return made


def told(linked):
    return linked.document, linked.links, linked.similarity.tolist(), linked.notes, linked.habit


@pytest.mark.parametrize(
    ("size", "evidence"),
    [
        *((size, DEFAULT_EVIDENCE) for size in (1, 40, 2048)),
        *((2048, kinds) for kinds in (("picture",), ("caption",), ("caption", "reference"), ("layout", "caption"))),
    ],
)
def test_documents_are_linked_as_one_by_one_whatever_the_batch_and_the_evidence(size, evidence, monkeypatch):
    monkeypatch.setattr(run, "FIRST_BATCH", size)
    documents = collection()
    linker = Counting().linker(evidence=evidence)
    habits = linker.habits(documents)
    alone = [Counting().linker(evidence=evidence).link(document, habits) for document in documents]
    assert [told(each) for each in linker.link_all(documents)] == [told(each) for each in alone]
    assert alone[6].document.images[0].problem == ("broken" if "picture" in evidence else None)


@pytest.mark.parametrize(
    "changed",
    [{"k": 1}, {"min_confidence": 0.5}, {"habit": "below"}, {"evidence": ("caption",)}],
    ids=str,
)
def test_every_setting_of_the_links_changes_them(changed):
    def links(**settings):
        linker = Counting().linker(**({"min_confidence": 0.0, "habit": "above"} | settings))
        return [linked.links for linked in linker.link_all(collection())]

    assert links() == links(k=3)
    assert links(**changed) != links()


def test_all_of_a_batch_is_encoded_at_once_and_each_text_once():
    documents, counting = collection(), Counting()
    assert len(list(counting.linker().link_all(documents))) == 12
    (texts,) = counting.texts[:1]
    assert len(texts) == len(set(texts))
    assert {sentence.text for document in documents for sentence in document.sentences} <= set(texts)
    assert len(counting.texts) == 2  # and those of the document with the broken picture again
    assert len(counting.pictures) == 1


def test_a_folder_is_linked_alike_with_any_number_of_threads(tmp_path, picture, monkeypatch):
    """The encoders that ship, no cache: the same links and the same bytes."""
    for number in range(2):
        lines = [f"# Chapter {number}"]
        for j in range(2):
            picture(f"docs/{number}-{j}.png", seed=3 * number + j)
            lines += [
                f"The {WORDS[number + j]} beside a {WORDS[9 - j]}.",
                f"![a {WORDS[number + j]}]({number}-{j}.png)",
            ]
        (tmp_path / f"docs/{number}.md").write_text("\n\n".join(lines) + "\n")
    documents = list(read_all([tmp_path / "docs"]))
    linker, written = Linker.load(settings=LinkSettings(cache=False)), []
    for threads in ("1", "3"):
        monkeypatch.setenv(THREADS, threads)
        written.append("".join(json_lines(linker.link_all(documents))))
    assert written[0].count("\n") == len(documents) == 2
    assert '"links": [{' in written[0]
    assert written[1] == written[0]


def test_a_document_of_too_many_pairs_costs_nothing_but_itself(monkeypatch):
    monkeypatch.setattr("iconotext.run.MAX_PAIRS", 100)
    good, *_ = collection(1)
    sentences, images = len(good.sentences), len(good.images)
    assert sentences * images <= 100
    large = replace(good, id="large", sentences=good.sentences * (101 // (sentences * images) + 1))
    failed, linked = Counting().linker().link_all([large, good])
    assert isinstance(failed, Failure)
    assert "more than 100: divide the document" in str(failed.error)
    assert linked.document.id == good.id


def test_a_document_that_fails_stops_nothing(tmp_path):
    counting = Counting()
    linker = counting.linker()
    documents = collection(6)

    def look(images):
        if any(image.source == "closed" for image in images):
            raise ImageError("it is closed")
        return source.encode(images)

    plain: Any = linker.encoder
    source = plain.image_source
    encoder = replace(plain, image_source=replace(source, encode=look))
    bad = replace(documents[2], id="bad", images=(Image("closed", b"x"),))
    gone = Failure(tmp_path / "gone.md", DocumentError("it is gone"))
    given = [*documents[:2], bad, gone, tmp_path / "no such.md", *documents[2:]]
    found = list(Linker(encoder, linker.settings).link_all(given))
    assert [str(each.path) for each in found if isinstance(each, Failure)] == [
        "bad",
        str(gone.path),
        str(tmp_path / "no such.md"),
    ]
    assert [each.document.id for each in found if not isinstance(each, Failure)] == [d.id for d in documents]
    with pytest.raises(ImageError, match="closed"):
        Linker(encoder, linker.settings).link(bad)


def test_batches_grow_and_end_where_their_pictures_are_large(monkeypatch):
    monkeypatch.setattr(run, "FIRST_BATCH", 10)
    monkeypatch.setattr(run, "MAX_BATCH", 40)
    monkeypatch.setattr(run, "MAX_BATCH_BYTES", 1000)
    small = Document("d", tuple(Sentence("A", i) for i in range(9)))  # ten with itself
    large = replace(small, images=(Image("a.png", b"." * 600), Image("gone.png", None)))
    grow = [len(batch) for batch in run._batches([small] * 13)]
    assert grow == [1, 2, 4, 4, 2]
    monkeypatch.setattr(run, "FIRST_BATCH", 1000)
    assert [len(batch) for batch in run._batches([large] * 3)] == [2, 1]


def test_who_stops_in_the_middle_leaves_no_thread(monkeypatch):
    monkeypatch.setattr(run, "FIRST_BATCH", 1)
    monkeypatch.setattr(run, "MAX_BATCH", 1)
    before = threading.active_count()
    taken = []

    def documents():
        for document in collection(200):
            taken.append(document)
            yield document

    found: Any = Counting().linker(evidence=("picture", "caption")).link_all(documents())
    next(found)
    found.close()
    assert threading.active_count() == before
    assert len(taken) < 12  # no more than a few batches ahead


def test_what_is_no_document_ends_it():
    with pytest.raises(TypeError, match="not a list"):
        list(Counting().linker().link_all([*collection(2), []]))
