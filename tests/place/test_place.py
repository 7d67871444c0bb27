"""Pictures for a text that has none: from every source, to every output."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from iconotext import Document, Image, Linker, LinkSettings, ReadSettings, Sentence, read
from iconotext.errors import DocumentError, OutputError, SettingError
from iconotext.excerpts import Chunk
from iconotext.linked import LinkedDocument
from iconotext.place.output import markdown, placed, save
from iconotext.place.pictures import chunk_images, from_elsewhere, of_row, pictures_of
from iconotext.place.settings import PlaceSettings
from iconotext.place.text import joined, text_document
from iconotext.report.as_excerpts import row
from iconotext.report.as_json import json_object
from iconotext.report.context import contexts
from iconotext.types import Link, LinkedSentence
from tests.support.linked import linked_documents

ORIGINAL = """# The city

A red tram runs along the harbour every ten minutes.

![Tram](tram.png)

## Food

Loaves of bread rest on a table in the bakery.

![A loaf](bread.png)
"""

ANSWER = """Trams in the city are **red** and run on every street near the harbour.

- The bakery opens at six. A loaf of bread rests on the table until noon.
- The market is closed.

Nothing else happens.
"""


BY_TEXTS = PlaceSettings(evidence=("caption", "context"))
"""The pictures of these tests are noise."""


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker.load(settings=LinkSettings(cache=False))


@pytest.fixture
def original(picture, tmp_path: Path) -> Path:
    picture("tram.png", seed=1)
    picture("bread.png", seed=2)
    path = tmp_path / "original.md"
    path.write_text(ORIGINAL, encoding="utf-8")
    return path


def sentences_of(linked):
    """Each placed picture and its sentence."""
    document = linked.document
    return {document.images[link.image].source: document.sentences[link.sentence].text for link in linked.links}


RIGHT = {
    "tram.png": "Trams in the city are red and run on every street near the harbour.",
    "bread.png": "A loaf of bread rests on the table until noon.",
}


@pytest.mark.parametrize(
    "source", ["document", "linked", "json", "chunks", "chunks.jsonl", "list.jsonl", "contexts.jsonl", "folder"]
)
def test_pictures_come_from_every_source(linker, original, tmp_path, source):
    linked = linker.link(original)
    rows = {
        "chunks.jsonl": [row(chunk) for chunk in linked.chunks(10)],
        "list.jsonl": [row(chunk) for chunk in linked.chunks(10)],  # as a terminal prints it with --json
        "contexts.jsonl": [row(context) for context in contexts(linked)],
    }
    given = {"document": [original], "linked": [linked], "chunks": linked.chunks(10), "folder": [tmp_path]}.get(source)
    if given is None:
        file = tmp_path / f"rows-{source}" if source in rows else tmp_path / "linked.json"
        lines = rows.get(source) or [[json_object(linked)]]
        text = json.dumps(lines, indent=1) if source == "list.jsonl" else "\n".join(map(json.dumps, lines))
        file.write_text(text, encoding="utf-8")
        given = [file]
    placed_ = linker.place(ANSWER, given, BY_TEXTS)
    assert sentences_of(placed_) == RIGHT
    assert all(isinstance(image.file, Path) and image.file.is_file() for image in placed_.document.images)


def test_context_alone_finds_the_sentence(linker, original):
    images = [
        replace(image, source=f"{n}.png", alt=None, caption=None)
        for n, image in enumerate(from_elsewhere(linker.link(original)))
    ]
    assert list(sentences_of(linker.place(ANSWER, images, BY_TEXTS)).values()) == list(RIGHT.values())
    bare = [replace(image, context=()) for image in images]
    assert sentences_of(linker.place(ANSWER, bare, BY_TEXTS)) == {}


def test_markdown_stays_as_it_was_and_gets_the_pictures(linker, original, tmp_path):
    text = markdown(linker.place(ANSWER, [original], BY_TEXTS), tmp_path)
    first, item, rest = ANSWER.partition("harbour.\n")[0], "noon.\n", "- The market"
    assert text.startswith(f"{first}harbour.\n\n![Tram](<tram.png>)\n\n- The bakery")
    assert text.endswith(f"{item}\n  ![A loaf](<bread.png>)\n\n{rest}{ANSWER.partition(rest)[2]}")


def test_the_limit_and_the_smallest_confidence(linker, original):
    one = linker.place(ANSWER, [original], PlaceSettings(most=1, evidence=BY_TEXTS.evidence))
    assert len(one.links) == 1
    assert [image.problem for image in one.document.images].count(
        "the text has 1 picture already, and others fit it better"
    ) == 1
    assert (
        linker.place(
            "Taxes are due in May.", [original], PlaceSettings(min_confidence=0.9, evidence=BY_TEXTS.evidence)
        ).links
        == ()
    )


def test_no_picture_comes_twice(linker, original, tmp_path):
    again = tmp_path / "again.png"
    again.write_bytes((tmp_path / "tram.png").read_bytes())
    linked = linker.place(ANSWER, [original, again, tmp_path / "tram.png"], BY_TEXTS)
    assert sentences_of(linked) == RIGHT
    assert [image.problem for image in linked.document.images][2:] == ["the same picture as tram.png"] * 2


def test_a_picture_that_the_text_shows_is_not_placed_again(original):
    text = read(original)
    images = pictures_of([original], lambda documents: iter(())) or list(text.images)
    assert [image.problem for image in joined(text, images).images] == ["the text shows it already"] * 2


def test_json_says_why(linker, original, tmp_path):
    result = placed(linker.place(ANSWER, [original], BY_TEXTS), tmp_path)
    tram = result.placed[0]
    assert (tram.picture, tram.sentence, ANSWER[tram.start : tram.end]) == ("tram.png", 0, ANSWER.partition("\n")[0])
    assert tram.why == (
        "its document links it with “A red tram runs along the harbour every ten minutes.”; its caption shares Trams"
    )
    assert tram.evidence["context"] > 0 == tram.evidence["caption"]
    bare = [replace(image, context=()) for image in from_elsewhere(linker.link(original))]
    assert placed(linker.place(ANSWER, bare, BY_TEXTS)).placed[0].why == "its caption shares Trams"


@pytest.mark.parametrize("name", ["out.md", "out.html", "out.json"])
def test_files_are_written(linker, original, tmp_path, name):
    linked = linker.place(ANSWER, [original], BY_TEXTS)
    save(linked, tmp_path / name)
    assert "harbour" in (tmp_path / name).read_text(encoding="utf-8")


def test_texts_are_never_names_of_files(linker):
    with pytest.raises(SettingError, match="the name of a file: give the text itself, or the file"):
        linker.place("answer.md", [])
    with pytest.raises(SettingError, match="the text is empty"):
        linker.place(" \n", [])
    assert text_document("One sentence. Another one.").source is None


LINKED = (
    '{"id": "a", "source": null, "title": null, "language": "en", "model": "m", "notes": [], "habit": null, "images": [], '
    '"sentences": [{"text": "A.", "block": 0, "heading": false, "kind": "paragraph"}], "similarity": [[]], '
    '"links": [{"sentence": 0, "image": 0, %s, "confidence": 1, "paragraph_confidence": 1, "evidence": {}}]}'
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "not JSON"),
        ("a.jsonl", '{"links": []}', "id: Field required"),
        ("a.json", "[{}]", "neither a linked document nor a chunk nor a context"),
        ("a.json", '{"id": "a", "error": "broken"}', "a document that was not linked: broken"),
        ("a.xyz", "a", "nothing with pictures"),
        ("a.json", LINKED % '"score": "high"', "links.0.score"),
        ("a.json", LINKED % '"score": [1]', "links.0.score"),
        ("a.json", (LINKED % '"score": 1').replace('"A."', "7"), "sentences.0.text"),
    ],
)
def test_files_without_pictures_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match=message):
        pictures_of([tmp_path / name], lambda documents: iter(()))


@given(linked_documents())
def test_both_confidences_read_back(linked):
    def read(of):
        return of_row(json.loads(json.dumps(of)), Path(), ReadSettings())

    def near(value, digits):
        return value if value is None else pytest.approx(value, rel=10**-digits)

    again = read(json_object(linked))
    stated = [(link.sentence, link.image, link.confidence, link.paragraph_confidence) for link in linked.links]
    read_back = [(link.sentence, link.image, link.confidence, link.paragraph_confidence) for link in again.links]
    assert read_back == [pytest.approx(each, rel=1e-5) for each in stated]
    for context in contexts(linked):
        assert read(row(context)).paragraph_confidence == near(context.paragraph_confidence, 5)
    for chunk in linked.chunks(20):
        for of in (chunk, chunk.slim()):
            own = [image.paragraph_confidence for image in read(row(of)).images]
            assert own == [near(image.paragraph_confidence, 2) for image in chunk.images]


def test_pictures_that_an_interrupted_run_left_beside_its_file_are_no_hindrance(linker, picture, tmp_path):
    data = picture("tram.png").read_bytes()
    image = Image("tram.png", data, alt="A red tram on a street near the harbour", problem=None)
    linked = linker.place(ANSWER, [image], BY_TEXTS)
    assert linked.links
    (tmp_path / "out-1.png").write_bytes(data)
    save(linked, tmp_path / "out.md")
    assert "out-1.png" in (tmp_path / "out.md").read_text()
    (tmp_path / "other-1.png").write_bytes(b"of the user")
    with pytest.raises(OutputError, match=r"other-1\.png exists already"):
        save(linked, tmp_path / "other.md")


@pytest.mark.parametrize("root", [True, False])
def test_json_names_no_files_elsewhere(linker, original, tmp_path, root):
    (tmp_path / "inside").mkdir()
    rows = "\n".join(json.dumps(row(chunk)) for chunk in linker.link(original).chunks(10))
    (tmp_path / "inside" / "chunks.jsonl").write_text(rows, encoding="utf-8")
    (tmp_path / "inside" / "linked.json").write_text(json.dumps(json_object(linker.link(original))), encoding="utf-8")
    (tmp_path / "inside" / "link.png").symlink_to(tmp_path / "tram.png")
    for name in ("chunks.jsonl", "linked.json", "link.png", "."):
        images = pictures_of(
            [tmp_path / "inside" / name],
            lambda documents: iter(()),
            ReadSettings(root=tmp_path / "inside" if root else None),
        )
        assert {image.file for image in images} == {None}
        assert all("outside the folder inside/" in (image.problem or "") for image in images)


def test_a_chunk_without_links_is_the_context_of_its_pictures(linker, original):
    (chunk,) = replace_links(linker.link(original)).chunks(300)
    assert isinstance(chunk, Chunk)
    images = chunk_images(replace(chunk, text="One sentence. Another one."))
    assert images[0].context == (LinkedSentence("One sentence.", 0.5), LinkedSentence("Another one.", 0.5))


def test_slim_chunks_bring_the_same_contexts(linker, original, tmp_path):
    chunks = linker.link(original).chunks(12)
    slim = pictures_of([chunk.slim() for chunk in chunks], linker.link_all)
    whole = pictures_of(chunks, linker.link_all)
    assert [[s.text for s in image.context] for image in slim] == [[s.text for s in image.context] for image in whole]
    assert [image.file for image in slim] == [image.file for image in whole]
    wrong = row(next(chunk for chunk in chunks if chunk.images).slim())
    wrong_ones: list[object] = [[[0, 1]], [[-1, 2, 0.5]], [["0", None, 0.5]], {}]
    for sentences in wrong_ones:
        wrong["images"][0]["sentences"] = sentences
        (tmp_path / "wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(DocumentError, match=r"wrong.json: images\.0\.sentences"):
            pictures_of([tmp_path / "wrong.json"], linker.link_all)


def replace_links(linked):
    return replace(linked, links=())


def test_other_formats_become_plain_markdown(linker, original, tmp_path):
    text = Document("a", tuple(Sentence(each, n) for n, each in enumerate(RIGHT.values())))
    linked = linker.place(text, [original], BY_TEXTS)
    assert markdown(linked, tmp_path).split("\n\n") == [
        RIGHT["tram.png"],
        "![Tram](<tram.png>)",
        RIGHT["bread.png"],
        "![A loaf](<bread.png>)\n",
    ]
    assert Image("a.png").context == ()


TRAM = "A red tram waits at the stop."
PICTURE = "![Tram](<tram.png>)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRAM, f"{TRAM}\n\n{PICTURE}\n"),
        (f"{TRAM}\r\nIt rains.\r\n\r\nEnd.", f"{TRAM}\r\nIt rains.\r\n\n{PICTURE}\n\r\nEnd."),
        (f"> {TRAM}\n>\n> It rains.\n", f"> {TRAM}\n>\n> {PICTURE}\n>\n> It rains.\n"),
        (f"> - {TRAM}\n> - It rains.\n", f"> - {TRAM}\n>\n>   {PICTURE}\n>\n> - It rains.\n"),
        (f"- One.\n  - {TRAM}\n- Two.\n", f"- One.\n  - {TRAM}\n\n    {PICTURE}\n\n- Two.\n"),
        (f"10. {TRAM}\n    On it goes.\n", f"10. {TRAM}\n    On it goes.\n\n    {PICTURE}\n"),
        (
            f"| a | b |\n|---|---|\n| {TRAM} | c |\n| d | e |\n",
            f"| a | b |\n|---|---|\n| {TRAM} | c |\n| d | e |\n\n{PICTURE}\n",
        ),
        (f"```\ncode\n```\n{TRAM}\n# End\n", f"```\ncode\n```\n{TRAM}\n\n{PICTURE}\n\n# End\n"),
    ],
)
def test_markdown_of_every_shape(text, expected):
    document = replace(text_document(text), images=(Image("tram.png", alt="Tram"),))
    texts = [sentence.text for sentence in document.sentences]
    link = Link(texts.index(TRAM), 0, 1.0, 1.0, 1.0, {})
    made = markdown(LinkedDocument(document, (link,), np.zeros((len(texts), 1), np.float32), ""))
    assert made == expected
    assert [sentence.text for sentence in text_document(made).sentences] == texts


def test_another_language_is_said(linker):
    quoted = "Eine rote Straßenbahn fährt alle zehn Minuten am Hafen entlang, und sie hält dort nicht, weil es regnet. "
    image = Image("a.png", problem=None, context=(LinkedSentence(quoted * 2, 0.9),))
    assert (
        "come from text in German, and the text that gets them is in English"
        in linker.place(ANSWER, [image], BY_TEXTS).notes[0]
    )
    english = replace(image, context=(LinkedSentence("The red tram runs along the harbour every day. " * 4, 0.9),))
    assert linker.place(ANSWER, [english], BY_TEXTS).notes == ()
