"""The MSCOCO builder on sources in the original layout: 2014 and 2017 editions of the same photographs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError
from iconotext_papers.datasets import mscoco
from papers.support.builds import counts
from tests.support.coco import coco, photograph, write_annotations


def built(output, source, *, workers=1, **wanted):
    settings = mscoco.Settings(source=source, **wanted)
    return build_corpus("mscoco", mscoco.documents, settings, output, workers=workers, force=True)


def number(image):
    return int(Path(image).stem[-12:])


def owner(text):
    return int(text.split()[-1].rstrip("."))


def check_rule(documents, *, true=5, fake=5, distractors=5):
    """What the supplement promises: halves, groups, links, pools of splits."""
    split_of: dict[str, str] = {}
    role_of: dict[str, bool] = {}
    for document in documents:
        linked = {i for _, i in document.links}
        for i, image in enumerate(document.images):
            assert split_of.setdefault(image.source, document.split) == document.split
            assert role_of.setdefault(image.source, i in linked) == (i in linked)
    assert sum(role_of.values()) * fake == (len(role_of) - sum(role_of.values())) * true
    shown = {number(image): split for image, split in split_of.items()}
    for document in documents:
        numbers = [number(image.source) for image in document.images]
        texts = [sentence.text for sentence in document.sentences]
        assert len(set(numbers)) == len(numbers) == true + fake
        assert len(set(texts)) == len(texts) == true + distractors
        assert len(document.links) == len(dict(document.links)) == true
        for s, text in enumerate(texts):
            assert shown[owner(text)] == document.split
            if s in dict(document.links):
                assert owner(text) == numbers[dict(document.links)[s]]
            else:
                assert owner(text) not in numbers


@pytest.mark.slow
def test_sizes_and_rule(tmp_path):
    """113 photographs: 56 true and 56 fake, 11 groups, 2 for validation and test each, 3 photographs left over."""
    report = built(tmp_path / "out/c.jsonl", coco(tmp_path / "coco", 113), workers=2)
    documents = list(read_corpus(tmp_path / "out/c.jsonl"))
    assert Counter(document.split for document in documents) == {"train": 7 * 5, "validation": 2, "test": 2}
    check_rule(documents)
    found = counts(report)
    assert found["true images"] == found["fake images"] == 56
    assert found["groups of true and fake images"] == 11
    assert found["images left over"] == 3
    assert [found[f"documents for {split}, before versions"] for split in ("train", "validation", "test")] == [7, 2, 2]
    assert [found[f"documents: {split}"] for split in ("train", "validation", "test")] == [35, 2, 2]
    assert found["different images"] == report.stats.unique_images == 110
    assert found["links per 100 possible links"] == 5
    assert found["captions of them"] == 113 * 5
    assert documents[0].images[0].source.startswith("../coco/train2017/")
    assert all(image.problem is None for document in documents for image in document.images)
    for document in documents:  # the first captions in validation and test, each in one version of training
        version = 0 if document.split != "train" else int(document.id.rpartition("-")[2])
        assert {document.sentences[s].text.split()[1] for s, _ in document.links} == {str(version)}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(30, 90),
    pairs=st.integers(1, 3),
    fake=st.integers(1, 3),
    distractors=st.integers(0, 2),
    seed=st.integers(0, 99),
)
def test_every_document_keeps_the_rule(tmp_path_factory, count, pairs, fake, distractors, seed):
    root = tmp_path_factory.mktemp("coco")
    write_annotations(root / "captions_val2014.json", range(count), edition="2014", part="val", captions=2)
    (root / "val2014").mkdir()
    for i in range(count):
        (root / f"val2014/COCO_val2014_{i:012}.jpg").touch()
    groups = min(count // 2 // pairs, count // 2 // fake)
    wanted = {"pairs": pairs, "distractor_images": fake, "distractor_captions": distractors, "verify": False}
    if groups // 5 * (pairs + fake) * 2 < 3 * (pairs + fake):  # one group has no others to take captions from
        wanted["distractor_captions"] = distractors = 0
    built(root / "c.jsonl", root, seed=seed, **wanted)
    documents = list(read_corpus(root / "c.jsonl"))
    check_rule(documents, true=pairs, fake=fake, distractors=distractors)
    fifth = groups // 5
    wanted_counts = {"train": 2 * (groups - 2 * fifth), "validation": fifth, "test": fifth}
    assert Counter(document.split for document in documents) == {k: v for k, v in wanted_counts.items() if v}


def test_both_editions_count_once(tmp_path):
    """2014 has 1–80 and 81–120 as train and val, 2017 has 1–115 and 116–120: the same photographs and captions."""
    both, one = tmp_path / "both", tmp_path / "one"
    for root in (both, one):
        write_annotations(root / "annotations/captions_train2014.json", range(1, 81), edition="2014")
        write_annotations(root / "annotations/captions_val2014.json", range(81, 121), edition="2014", part="val")
    write_annotations(both / "annotations/captions_train2017.json", range(1, 116), images_last=True)
    write_annotations(both / "annotations/captions_val2017.json", range(116, 121))
    for i in range(1, 121):
        photograph(both / "images" / ("train2017" if i < 116 else "val2017"), f"{i:012}.jpg")
    reports = [
        built(tmp_path / "both.jsonl", both),
        built(tmp_path / "one.jsonl", one, images=both / "images"),
    ]
    assert (tmp_path / "both.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert [counts(report)["images in them"] for report in reports] == [120, 120]
    assert [counts(report)["captions of them"] for report in reports] == [600, 600]
    assert [counts(report)["captions that two annotation files have"] for report in reports] == [600, 0]
    assert [counts(report)["annotation files"] for report in reports] == [4, 2]


def test_which_photographs(tmp_path, monkeypatch):
    root = tmp_path / "coco"
    write_annotations(root / "annotations/captions_train2014.json", range(60), edition="2014")
    write_annotations(root / "annotations/captions_val2014.json", range(60, 100), edition="2014", part="val")
    for i in range(100):
        photograph(root / "all", f"COCO_{'train' if i < 60 else 'val'}2014_{i:012}.jpg")

    def used(**wanted):
        report = built(tmp_path / "c.jsonl", root, distractor_captions=1, **wanted)
        shown = {number(image.source) for document in read_corpus(tmp_path / "c.jsonl") for image in document.images}
        assert len(shown) == counts(report)["different images"]
        return max(shown) < 60, counts(report)["images that are there and can be read"], report.notes[0]

    few = {"pairs": 1, "distractor_images": 1}
    assert used(**few)[:2] == (False, 100)
    assert "lists 60 images, not 82,783 as published; all images" in used()[2]
    assert used(photographs="all", **few)[:2] == (False, 100)
    assert used(photographs="train2014", **few)[:2] == (True, 60)
    monkeypatch.setattr(mscoco, "IMAGES_2014", 60)
    only, count, note = used(**few)
    assert (only, count) == (True, 60)
    assert "lists 60 images, as published, and these are used" in note
    assert used(photographs="all", **few)[:2] == (False, 100)
    (root / "annotations/captions_train2014.json").unlink()
    assert "captions_train2014.json is not there" in used(**few)[2]
    with pytest.raises(CorpusError, match=r"photographs=train2014 needs annotations/captions_train2014\.json"):
        used(photographs="train2014")


def test_the_published_sizes_come_out_of_the_published_number():
    """82,783 images: 41,391 true, 8,278 groups, 1,655 for validation and for test, 4,968 for training."""
    groups = mscoco.IMAGES_2014 // 2 // 5
    assert groups == sum(mscoco.SIZES.values()) == 8278
    assert (groups - 2 * (groups // 5), groups // 5) == (mscoco.SIZES["train"], mscoco.SIZES["test"]) == (4968, 1655)


def test_what_is_no_good_is_dropped_and_reported(tmp_path):
    root = coco(tmp_path / "coco", 110)
    file = root / "annotations/captions_train2017.json"
    value = json.loads(file.read_text())
    value["images"] += [
        {"id": "x"},
        7,
        {"id": 900, "file_name": "000000000900.jpg"},
        {"id": True, "file_name": "t.jpg"},
    ]
    value["images"] += [{"id": 901, "file_name": "../../etc/passwd"}, {"id": 902, "file_name": "Größe.jpg"}]
    value["images"] += [{"id": 2**70, "file_name": "t.jpg"}]
    value["annotations"] += [
        {"image_id": 1, "id": 5001, "caption": " \n "},
        {"image_id": 1, "id": 5002, "caption": None},
        {"image_id": 77777, "id": 5003, "caption": "Of nothing."},
        {"image_id": 901, "id": 5004, "caption": "A file."},
        {"image_id": 902, "id": 5005, "caption": "Ä  picture   902."},
        {"id": 5006, "bbox": []},
        "x",
    ]
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    (root / "train2017/000000000007.jpg").unlink()
    (root / "train2017/000000000008.jpg").write_text("no picture")
    whole = (root / "train2017/000000000009.jpg").read_bytes()
    (root / "train2017/000000000009.jpg").write_bytes(whole[: len(whole) * 2 // 3])
    Image.new("RGB", (4, 4)).save(root / "Größe.jpg")
    report = built(tmp_path / "c.jsonl", root)
    assert dict(report.dropped) == {
        "entries that are not images or captions": 6,
        "captions without words": 2,
        "captions of images that are not listed": 1,
        "images without a caption": 1,
        "images that are not there": 2,
        "unreadable images": 2,
    }
    assert counts(report)["images that are there and can be read"] == 108

    report = built(tmp_path / "d.jsonl", root, verify=False)
    assert "unreadable images" not in report.dropped


def test_wrong_sources_are_named(tmp_path):
    root = tmp_path / "coco"
    root.mkdir()
    with pytest.raises(CorpusError, match=r"no annotations/captions_train2014\.json.*cocodataset\.org"):
        built(tmp_path / "c.jsonl", root)
    file = write_annotations(root / "annotations/captions_val2017.json", range(30))
    with pytest.raises(CorpusError, match=r"none of 30 images is there: give images=.* or unpack train2014\.zip"):
        built(tmp_path / "c.jsonl", root)
    with pytest.raises(CorpusError, match="not a folder"):
        built(tmp_path / "c.jsonl", root, images=tmp_path / "gone")
    photograph(root / "val2017", f"{3:012}.jpg")
    with pytest.raises(CorpusError, match="1 images are there and can be read, a document needs 10"):
        built(tmp_path / "c.jsonl", root)
    file.write_text(file.read_text()[:300])
    with pytest.raises(
        CorpusError, match=r"captions_val2017\.json: cut off.*a file of captions of MSCOCO.*cocodataset"
    ):
        built(tmp_path / "c.jsonl", root)
    file.write_text('{"info": {}, "annotations": []}')
    with pytest.raises(CorpusError, match=r'captions_val2017\.json: has no list "images"; it should be a file'):
        built(tmp_path / "c.jsonl", root)
    file.write_bytes(b'{"images": ["\xff"]}')
    with pytest.raises(CorpusError, match="invalid bytes in UTF8"):
        built(tmp_path / "c.jsonl", root)
