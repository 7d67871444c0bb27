"""Captioned sets in the layouts they are published in, with their quirks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from iconotext.corpus.builders.captioned.sources import caption_photos, recognised
from iconotext.corpus.builders.report import BuildReport
from iconotext.corpus.builders.run import Build
from iconotext.errors import CorpusError


def picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4)).save(path)
    return path


def photos_of(source, format_=None, images=None):
    """Image relative to the folder, captions and split of each photograph; and the report."""
    build = Build(source.parent / "out" / "c.jsonl", source.parent, 1, BuildReport("captions", {}, []))
    root = source if source.is_dir() else source.parent
    found = list(caption_photos(build, source, format_, images))
    return [(Path(p.image).relative_to(images or root).as_posix(), p.captions, p.split) for p in found], build.report


def flickr8k(root):
    """As Flickr8k_text.zip and Flickr8k_Dataset.zip unpack."""
    text = root / "Flickr8k_text"
    text.mkdir(parents=True)
    lines = [
        "1000_a.jpg#0\tA child in a pink dress .",
        "1000_a.jpg#1\tA girl  going into a wooden building .",
        "1001_b.jpg#1\tTwo dogs \u00e9 on pavement .",
        "1001_b.jpg#0\tA black dog and a spotted dog .",
        "1001_b.jpg#1\tThe same number again .",
        "2258_c.jpg.1#0\tOf a picture that nobody has .",
        "1002_d.jpg#0\t  ",
        "a line without a caption",
        "1003_e.jpg#0\tIn no list .",
        "",
        '1002_d.jpg#1\tA man , and a "hat" .',
    ]
    (text / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (text / "Flickr8k.lemma.token.txt").write_text("1000_a.jpg#0\tA child in a pink dress .\n")
    (text / "readme.txt").write_text("If you use this corpus ...")
    (text / "Flickr_8k.trainImages.txt").write_text("1000_a.jpg\r\n2258_c.jpg.1\r\n")
    (text / "Flickr_8k.devImages.txt").write_text("1001_b.jpg\n")
    (text / "Flickr_8k.testImages.txt").write_text("1002_d.jpg\n")
    for name in ("1000_a", "1001_b", "1002_d", "1003_e"):
        picture(root / f"Flicker8k_Dataset/{name}.jpg")
    return root


def test_flickr8k(tmp_path):
    root = flickr8k(tmp_path / "f")
    assert recognised(root) == "flickr"
    photos, report = photos_of(root)
    wanted = [
        (
            "Flicker8k_Dataset/1000_a.jpg",
            ("A child in a pink dress .", "A girl going into a wooden building ."),
            "train",
        ),
        (
            "Flicker8k_Dataset/1001_b.jpg",
            ("A black dog and a spotted dog .", "Two dogs \u00e9 on pavement ."),
            "validation",
        ),
        ("Flicker8k_Dataset/1002_d.jpg", ('A man , and a "hat" .',), "test"),
    ]
    assert photos == wanted
    assert dict(report.dropped) == {
        "lines that are not a captioned photograph": 1,
        "captions without words": 1,
        "images that are in none of the lists of splits": 1,
        "images that are not there": 1,
    }
    assert report.notes == ["Flickr8k.token.txt: 1 lines repeat the number of a caption; the first counts"]
    again, _ = photos_of(root / "Flickr8k_text/Flickr8k.token.txt", images=root / "Flicker8k_Dataset")
    assert [photo[1:] for photo in again] == [photo[1:] for photo in wanted]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("results_20130124.token", ["1.jpg#0\tTwo men , standing .", "1.jpg#1\tMen .", "2.jpg#0\tA cat ."]),
        ("captions.txt", ["image,caption", '1.jpg,"Two men , standing ."', "1.jpg,Men .", "2.jpg,A cat ."]),
        ("captions.txt", ["\ufeffimage,caption", "1.jpg,Two men , standing .", "1.jpg,Men .", "2.jpg,A cat ."]),
        ("captions.csv", ["image_name,comment_number,comment", "1.jpg,0,Two men , standing .", "1.jpg, 1, Men .", "2.jpg,0,A cat ."]),
        ("results.csv", ["image_name| comment_number| comment", "1.jpg| 0| Two men , standing .", "1.jpg| 1   Men .", "2.jpg| 0| A cat ."]),
    ],
)  # fmt: skip
def test_layouts_of_flickr30k_and_newer_copies(tmp_path, name, lines):
    root = tmp_path / "f"
    for image in (1, 2):
        picture(root / f"flickr30k_images/flickr30k_images/{image}.jpg")
    bad = {"results.csv": "no caption", "captions.csv": "x,y,z"}.get(name, "no caption")
    (root / "flickr30k_images" / name).write_text("\r\n".join([*lines, bad, ""]), encoding="utf-8")
    photos, report = photos_of(root)
    assert photos == [
        ("flickr30k_images/flickr30k_images/1.jpg", ("Two men , standing .", "Men ."), None),
        ("flickr30k_images/flickr30k_images/2.jpg", ("A cat .",), None),
    ]
    assert dict(report.dropped) == {"lines that are not a captioned photograph": 1}


def test_coco_annotations_of_any_set(tmp_path):
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
        picture(root / name)
    photos, _ = photos_of(root)
    assert photos == [
        ("pictures/sub/b.png", ("Of b.",), "train"),
        ("train.png", ("Of a.",), "train"),
        ("val.png", ("Of a.",), "validation"),
    ]
    one, _ = photos_of(root / "annotations/captions_train.json", images=root)
    assert [photo[0] for photo in one] == ["pictures/sub/b.png", "train.png"]


PAGE = """<html><body><table><tr>
<td><img src="aeroplane/2008_000716.jpg"></td>
<td><table> <tr><td> A parked &amp; empty plane </td></tr><tr><td>A plane.</td></tr> </table></td>
</tr><tr><td><img src="bird/2008_000123.jpg"></td><td><table><tr><td> </td></tr></table></td></tr>
<tr><td><img src="cat/2008_000001.jpg"></td><td><table><tr><td>A cat</td></tr></table></td></tr>
</table><img src="logo.png"></body></html>"""


def test_pascal_page(tmp_path):
    root = tmp_path / "pascal-sentences"
    picture(root / "aeroplane/2008_000716.jpg")
    picture(root / "bird/2008_000123.jpg")
    (root / "index.html").write_text(PAGE)
    assert recognised(root) == recognised(root / "index.html") == "pascal"
    for source in (root, root / "index.html"):
        photos, report = photos_of(source)
        assert photos == [("aeroplane/2008_000716.jpg", ("A parked & empty plane", "A plane."), None)]
        assert dict(report.dropped) == {"images without a caption": 1, "images that are not there": 1}
    (root / "index.html").write_text("<p>Moved.</p>")
    with pytest.raises(CorpusError, match="not the page of the Pascal sentences"):
        photos_of(root / "index.html")


@pytest.mark.parametrize(("texts", "images"), [("sentence", "dataset"), ("Sentences", "Images")])
def test_pascal_tree(tmp_path, texts, images):
    root = tmp_path / "p"
    for name in ("aeroplane/2008_000716", "cat/2008_000001"):
        path = root / texts / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"One of {name}.\n\nTwo  of it.\n")
    (root / "README.txt").write_text("Nothing.")
    picture(root / images / "aeroplane/2008_000716.jpg")
    picture(root / images / "2008_000001.png")
    photos, _ = photos_of(root)
    assert photos == [
        (f"{images}/aeroplane/2008_000716.jpg", ("One of aeroplane/2008_000716.", "Two of it."), None),
        (f"{images}/2008_000001.png", ("One of cat/2008_000001.", "Two of it."), None),
    ]


def test_what_is_not_recognised_is_told_what_is_expected(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CorpusError, match=r"no captions are recognised; expected: captions\.jsonl.*Flickr8k\.token"):
        recognised(empty)
    with pytest.raises(CorpusError, match=r"no such file or folder; expected:"):
        recognised(tmp_path / "gone")
    (empty / "notes.txt").write_text("Nothing of this kind.")
    with pytest.raises(CorpusError, match="no captions are recognised"):
        recognised(empty / "notes.txt")
    with pytest.raises(CorpusError, match="no captions of Flickr8k or Flickr30k"):
        photos_of(empty / "notes.txt", "flickr")
    for format_, message in (
        ("coco", r"no captions_\*\.json"),
        ("jsonl", r"no captions\.jsonl"),
        ("pascal", "no Pascal"),
    ):
        with pytest.raises(CorpusError, match=message):
            photos_of(empty, format_)
    (empty / "captions.jsonl").write_text("{}\n")
    (empty / "captions.txt").write_text("image,caption\n")
    with pytest.raises(CorpusError, match="has captions as jsonl and as flickr: say which, as format=jsonl"):
        recognised(empty)
    (empty / "sub").mkdir()
    (empty / "sub/captions.txt").write_text("image,caption\n")
    with pytest.raises(CorpusError, match=r"has captions\.txt and sub/captions\.txt: name the one"):
        photos_of(empty, "flickr")


def test_names_that_are_no_text_are_dropped(tmp_path):
    root = tmp_path / "f"
    root.mkdir()
    (root / "captions.txt").write_bytes(b"image,caption\n\xff.jpg,A dog.\na.jpg,A \xff cat.\na.jpg,A cow.\n")
    picture(root / "a.jpg")
    photos, report = photos_of(root)
    assert photos == [("a.jpg", ("A cow.",), None)]
    assert dict(report.dropped) == {"lines that are not a captioned photograph": 1, "captions without words": 1}


def test_a_corpus_is_no_file_of_captions(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text(json.dumps({"id": "a", "sentences": ["A."], "images": ["a.png"]}))
    with pytest.raises(CorpusError, match=r"documents\.jsonl: is a corpus.*`iconotext corpus build pairs`"):
        photos_of(path)


def test_a_folder_of_pictures_that_is_not_there(tmp_path):
    path = tmp_path / "captions.jsonl"
    path.write_text(json.dumps({"image": "a.png", "captions": ["A."]}))
    with pytest.raises(CorpusError, match=r"nope: not a folder; name the one that has the pictures"):
        photos_of(path, images=tmp_path / "nope")
