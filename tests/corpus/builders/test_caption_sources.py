"""Captioned sets in the layouts they are published in, with their quirks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iconotext.corpus.builders.build import Build
from iconotext.corpus.builders.photos import caption_photos, recognised
from iconotext.corpus.builders.report import BuildReport
from iconotext.errors import CorpusError
from tests.support.shards import write_jsonl


def photos_of(source, format_=None, images=None):
    """Image relative to the folder, captions and split of each photograph; and the report."""
    build = Build(source.parent / "out" / "c.jsonl", source.parent, 1, BuildReport("captions", {}, []))
    root = source if source.is_dir() else source.parent
    found = list(caption_photos(build, source, format_, images))
    return [(Path(p.image).relative_to(images or root).as_posix(), p.captions, p.split) for p in found], build.report


def test_coco_annotations_of_any_set(tmp_path, picture):
    root = tmp_path / "c"
    value = {
        "images": [{"id": "b", "file_name": "sub/b.png"}, {"id": "a", "file_name": "a.png"}],
        "annotations": [{"image_id": "b", "id": 1, "caption": "Of b."}, {"image_id": "a", "id": 2, "caption": "Of a."}],
    }
    for part in ("train", "val"):
        path = root / f"annotations/captions_{part}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value).replace("a.png", f"{part}.png").replace('"a"', f'"{part}"'))
    for name in ("pictures/sub/b.png", "train.png", "val.png"):
        picture(f"c/{name}")
    photos, _ = photos_of(root)
    assert photos == [
        ("pictures/sub/b.png", ("Of b.",), "train"),
        ("train.png", ("Of a.",), "train"),
        ("val.png", ("Of a.",), "validation"),
    ]
    one, _ = photos_of(root / "annotations/captions_train.json", images=root)
    assert [photo[0] for photo in one] == ["pictures/sub/b.png", "train.png"]


def test_what_is_not_recognised_is_told_what_is_expected(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CorpusError, match=r"no captions are recognised; expected: captions\.jsonl"):
        recognised(empty)
    with pytest.raises(CorpusError, match=r"no such file or folder; expected:"):
        recognised(tmp_path / "gone")
    (empty / "notes.txt").write_text("Nothing of this kind.")
    with pytest.raises(CorpusError, match="no captions are recognised"):
        recognised(empty / "notes.txt")
    for format_, message in (("coco", r"no captions_\*\.json"), ("jsonl", r"no captions\.jsonl")):
        with pytest.raises(CorpusError, match=message):
            photos_of(empty, format_)
    (empty / "captions.jsonl").write_text("{}\n")
    (empty / "captions.json").write_text("{}")
    with pytest.raises(CorpusError, match="has captions as jsonl and as coco: say which, as format=jsonl"):
        recognised(empty)
    (empty / "sub").mkdir()
    (empty / "sub/captions.jsonl").write_text("{}\n")
    with pytest.raises(CorpusError, match=r"has captions\.jsonl and sub/captions\.jsonl: name the one"):
        photos_of(empty, "jsonl")


def test_a_corpus_is_no_file_of_captions(tmp_path):
    path = write_jsonl(tmp_path / "documents.jsonl", [{"id": "a", "sentences": ["A."], "images": ["a.png"]}])
    with pytest.raises(CorpusError, match=r"documents\.jsonl: is a corpus.*`iconotext corpus build pairs`"):
        photos_of(path)


def test_a_folder_of_pictures_that_is_not_there(tmp_path):
    path = write_jsonl(tmp_path / "captions.jsonl", [{"image": "a.png", "captions": ["A."]}])
    with pytest.raises(CorpusError, match=r"nope: not a folder; name the one that has the pictures"):
        photos_of(path, images=tmp_path / "nope")
