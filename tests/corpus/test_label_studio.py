"""Tasks for Label Studio, in its documented JSON, and gold links out of its annotations."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from PIL import Image as Pillow

from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.check import check_corpus
from iconotext.corpus.label_studio import Settings, annotated_row, documents, labelling_config, task, tasks_json
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext.relations import RELATIONS
from iconotext.types import Image, Sentence
from tests.support.linked import link, linked_documents, make_linked, photograph


@pytest.fixture
def linked(tmp_path):
    """A picture that is a file, one that is inside, and one that is not there; an emoji before the sentences."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tram.jpg").write_bytes(photograph(1))
    texts = [
        Sentence("Trams 🚋", 0, "heading", level=1),
        Sentence("A red tram waits.", 1),
        Sentence("The driver drinks coffee.", 1),
        Sentence("A cat sleeps.", 2),
    ]
    images = [
        Image("tram.jpg", tmp_path / "docs" / "tram.jpg", alt="A tram", caption="Figure 1", position=1),
        Image("inside", photograph(2), position=4),
        Image("gone.png", None, position=4, problem="file not found"),
    ]
    return make_linked(texts, images, [link(1, 0, 0.9), link(3, 1, 0.6), link(2, 0, 0.3)], title="Trams")


def regions(made):
    return {each["id"]: each for each in made["predictions"][0]["result"] if each["type"] != "relation"}


def pairs(made):
    return {(each["from_id"], each["to_id"]) for each in made["predictions"][0]["result"] if each["type"] == "relation"}


def annotated(made, *annotations):
    """The task as Label Studio exports it."""
    found = [
        {"id": n, "result": result, "was_cancelled": cancelled} for n, (result, cancelled) in enumerate(annotations)
    ]
    return {"id": 17, "data": made["data"], "annotations": found, "predictions": made["predictions"], "meta": {}}


def taken(value, drop=lambda *what: None):
    """The row of a task, and the pictures that it shows."""
    found = annotated_row(value, "task 1", drop)
    assert found is not None
    return found


def test_a_task(linked, tmp_path):
    made = task(linked, tmp_path)
    text = made["data"]["text"]
    assert text == "Trams 🚋\n\nA red tram waits. The driver drinks coffee.\n\nA cat sleeps."
    found = regions(made)
    assert set(found) == {"sentence-1", "sentence-2", "sentence-3", "picture-0", "picture-1"}
    for each in found.values():
        if each["to_name"] == "text":
            value = each["value"]
            assert text[value["start"] : value["end"]] == value["text"]
    assert (found["picture-1"]["item_index"], len(made["data"]["pictures"])) == (1, 2)
    assert pairs(made) == {("sentence-1", "picture-0"), ("sentence-2", "picture-0"), ("sentence-3", "picture-1")}
    assert made["predictions"][0]["score"] == 0.6
    assert made["data"]["iconotext"]["row"]["images"] == ["docs/tram.jpg", "inside", "gone.png"]
    assert (found["picture-0"]["original_width"], found["picture-0"]["original_height"]) == (96, 64)
    json.dumps(made, allow_nan=False)


def test_the_interface_names_what_tasks_use(linked, tmp_path):
    root = ElementTree.fromstring(labelling_config())
    names = {each.get("name") for each in root.iter() if each.get("name")}
    made = task(linked, tmp_path)
    for each in regions(made).values():
        assert {each["from_name"], each["to_name"]} <= names
    shown = {each.get("value", each.get("valueList")) for each in root if each.tag in ("Text", "Image")} - {None}
    shown |= {each.get("valueList") for each in root if each.tag == "Image"}
    assert {f"${name}" for name in made["data"] if name != "iconotext"} == shown
    assert [each.get("value") for each in root.iter("Relation")] == [relation.name for relation in RELATIONS]


def test_label_studio_takes_them(linked, tmp_path):
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="it needs an older NumPy than ours")
    interface = sdk.LabelInterface(labelling_config())
    interface.validate()
    assert interface.validate_prediction(task(linked, tmp_path)["predictions"][0], return_errors=True) == []


def test_what_most_annotators_say_comes_back(linked, tmp_path):
    made = task(linked, tmp_path)
    text = made["data"]["text"]
    given_ = made["predictions"][0]["result"]
    start = text.index("driver drinks")
    own = {
        "id": "own",
        "to_name": "text",
        "type": "labels",
        "value": {"start": start, "end": start + 6, "text": "driver"},
    }
    both = {"id": "both", "to_name": "text", "type": "labels", "value": {"start": 10, "end": start + 22, "text": "?"}}
    picture = next(each for each in given_ if each["id"] == "picture-1")
    within = [own, picture, {"type": "relation", "from_id": "picture-1", "to_id": "own", "direction": "left"}]
    across = [both, picture, {"type": "relation", "from_id": "both", "to_id": "picture-1"}]
    astray = [picture, {"type": "relation", "from_id": "picture-1", "to_id": "lost"}]
    dropped: list[tuple[str, ...]] = []
    row, shown = taken(annotated(made, (within, False)), lambda *what: dropped.append(what))
    assert (row.links, set(shown)) == ([(2, 1)], {0, 1})
    row, _ = taken(annotated(made, (across, False), (within, False), (given_, True)), lambda *what: None)
    assert row.links == [(2, 1)]  # the other sentence was marked by one of two; who cancelled does not count
    assert dropped == []
    row, _ = taken(annotated(made, (astray, False)), lambda *what: dropped.append(what))
    assert row.links == []
    assert dropped == [("relation that does not join a sentence with a picture", "doc", "picture-1 → lost")]
    assert annotated_row(annotated(made), "", lambda *what: dropped.append(what)) is None
    assert dropped[-1] == ("task without annotations", "doc", "")


@given(linked_documents())
@settings(max_examples=30)
def test_a_round_trip(linked):
    images = tuple(replace(image, file=photograph(n)) for n, image in enumerate(linked.document.images))
    linked = replace(linked, document=replace(linked.document, images=images))
    (made,) = json.loads("".join(tasks_json([linked], Path())))
    result = made["predictions"][0]["result"]
    row, _ = taken(annotated(made, (result, False)), lambda *what: pytest.fail(str(what)))
    assert row.links == sorted((each.sentence, each.image) for each in linked.links)
    assert row.sentences == [sentence.text for sentence in linked.document.sentences]


def test_a_corpus_of_them(linked, tmp_path):
    made = json.loads("".join(tasks_json([linked], tmp_path)))
    result = made[0]["predictions"][0]["result"]
    (tmp_path / "export.json").write_text(json.dumps([annotated(made[0], (result, False)), annotated(made[0])]))
    report = build_corpus(
        "label-studio", documents, Settings(source=[tmp_path / "export.json"]), tmp_path / "gold.jsonl"
    )
    (document,) = read_corpus(tmp_path / "gold.jsonl")
    assert document.links == ((1, 0), (2, 0), (3, 1))
    tram, inside = document.images
    assert (tram.file, tram.caption) == (tmp_path / "docs" / "tram.jpg", "Figure 1")
    assert Pillow.open(io.BytesIO(inside.file.read_bytes())).size == (96, 64)
    assert inside.file.parent.name == "gold_images"
    assert (document.title, document.sentences[0].level) == ("Trams", 1)
    assert report.dropped == {"picture that is not there": 1, "task without annotations": 1}
    assert check_corpus(tmp_path / "gold.jsonl").problems == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "a list of tasks is needed"),
        ("[", "no export of Label Studio"),
        ("[]", "nobody has annotated any task"),
        ('[{"data": {"image": "a.png"}}]', "task 1, field data.text"),
    ],
)
def test_what_is_no_export(tmp_path, text, message):
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(CorpusError, match=message):
        build_corpus("label-studio", documents, Settings(source=[tmp_path / "export.json"]), tmp_path / "gold.jsonl")


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Something else."},
        {"iconotext": {"row": {"id": "a", "sentences": ["A."], "images": []}, "pictures": [5, 6]}},
        {"iconotext": {"row": {"id": "a", "sentences": ["A."], "images": [], "links": [[9, 9]]}, "pictures": []}},
    ],
)
def test_tasks_that_were_changed(linked, tmp_path, change):
    made = task(linked, tmp_path)
    made["data"] |= change
    with pytest.raises(CorpusError):
        taken(annotated(made, ([], False)), lambda *what: None)
