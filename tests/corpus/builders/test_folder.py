from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from dataclasses import replace

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext import read_all, read_corpus
from iconotext.corpus.builders.fetched import SUFFIXES, Fetched, name_of, saved_image, suffix_of
from iconotext.corpus.builders.folder import BARE, UNREAD, Settings, _read, documents, images_folder
from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.check import check_corpus
from iconotext.corpus.split import Shares, at_least_two
from iconotext.errors import CorpusError, DocumentError, OutputError
from tests.support.epub import book
from tests.support.pdf import Sheet, jpeg, png, write_pdf


def built(paths, output, *, workers=1, **wanted):
    """What is read back from a corpus of files, and what was dropped: [rule, item, reason]."""
    settings = Settings(source=paths, **{"validation": 0, "interval": 0.1, **wanted})
    build_corpus("folder", documents, settings, output, workers=workers, force=True)
    lines = output.with_suffix(".dropped.tsv").read_text().splitlines()
    return {document.id: document for document in read_corpus(output)}, [line.split("\t") for line in lines[1:]]


def pages(folder, *texts):
    folder.mkdir(exist_ok=True)
    for i, text in enumerate(texts):
        (folder / f"{i}.md").write_text(text)
    return folder


def data_address(data):
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
def test_what_a_document_says_is_kept(tmp_path, picture, name):
    picture("docs/img/a.png")
    picture("docs/img/b.png", seed=1)
    (tmp_path / "docs/guide.md").write_text(
        '# Ein Titel\n\nEin Satz über ein Haus. Noch ein Satz.\n\n![Haus](img/a.png "Das Haus")\n\n- Ein Punkt der Liste.\n\n'
        "![](img/b.png)\n"
    )
    found, dropped = built([tmp_path / "docs"], tmp_path / "out" / name, language="de")
    document = found["guide"]
    assert [(s.text, s.block, s.kind) for s in document.sentences] == [
        ("Ein Titel", 0, "heading"),
        ("Ein Satz über ein Haus.", 1, "paragraph"),
        ("Noch ein Satz.", 1, "paragraph"),
        ("Ein Punkt der Liste.", 3, "item"),
    ]
    assert [(i.source, i.alt, i.caption, i.position) for i in document.images] == [
        ("../docs/img/a.png", "Haus", "Das Haus", 3),
        ("../docs/img/b.png", None, None, 4),
    ]
    assert (document.title, document.language, document.links, document.split) == ("Ein Titel", "de", None, "train")
    assert document.meta["source"] == "../docs/guide.md"
    assert dropped == []
    assert not images_folder(tmp_path / "out" / name).exists()


def test_pictures_inside_documents_become_files_each_once(tmp_path):
    docs, one, two = tmp_path / "docs", png(1), jpeg(2)
    docs.mkdir()
    (docs / "a.md").write_text(f"A sentence.\n\n![]({data_address(one)})\n")
    (docs / "b.md").write_text(f"Another one.\n\n![]({data_address(one)})\n")
    sheet = Sheet()
    sheet.lines(72, 100, ["A sentence on a page that is long enough."])
    sheet.picture(72, 200, 200, 150, two)
    (docs / "p.pdf").write_bytes(write_pdf([sheet]))
    (docs / "e.epub").write_bytes(book())
    word = docx.Document()
    word.add_paragraph("A sentence before.")
    (tmp_path / "two.jpg").write_bytes(two)
    word.add_picture(str(tmp_path / "two.jpg"))
    word.save(str(docs / "w.docx"))
    found, _ = built([docs], tmp_path / "out/c.jsonl")
    assert set(found) == {"a", "b", "p", "e", "w"}
    assert "c_images has 3 pictures that came inside documents" in (tmp_path / "out/c.report.json").read_text()
    folder = images_folder(tmp_path / "out/c.jsonl")
    wanted = {
        f"{hashlib.sha256(data).hexdigest()}{suffix}"
        for data, suffix in ((one, ".png"), (two, ".jpg"), (jpeg(), ".jpg"))
    }
    assert {path.name for path in folder.iterdir()} == wanted
    assert found["a"].images[0].source == found["b"].images[0].source
    assert found["a"].images[0].file.read_bytes() == one
    assert found["p"].images[0].source == found["w"].images[0].source
    assert check_corpus(tmp_path / "out/c.jsonl").problems == ()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["c.dropped.tsv", "c.jsonl", "c.report.json", "c_images"]  # nothing waits there


def test_a_picture_that_an_earlier_run_wrote_is_used_again_if_it_is_whole(tmp_path):
    file = saved_image(png(), tmp_path)
    before = file.stat().st_mtime_ns
    assert saved_image(png(), tmp_path) == file
    assert file.stat().st_mtime_ns == before
    file.write_bytes(b"cut")
    assert saved_image(png(), tmp_path).read_bytes() == png()


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b"\xff\xd8\xff\xe0", ".jpg"),
        (b"GIF89a", ".gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", ".webp"),
        (b"BM6", ".bmp"),
        (b"MM\0*", ".tif"),
        (b"\0\0\0 ftypavif", ".avif"),
        (b"\0\0\0 ftypheic", ".heic"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", ".jp2"),
        (b"who knows", ".img"),
    ],
)
def test_files_have_the_suffix_of_what_they_hold(data, suffix):
    assert suffix_of(data) == suffix
    assert suffix in SUFFIXES


def test_what_cannot_be_used_is_told_and_leaves_the_rest_untouched(tmp_path, picture):
    picture("a.png")
    picture("icon.png", size=(16, 16))
    (tmp_path / "good.md").write_text(
        "One.\n\n![](gone.png)\n\nTwo.\n\n![](icon.png)\n\nThree.\n\n![the one](a.png)\n\nFour.\n\n![](a.png)\n"
    )
    (tmp_path / "broken.docx").write_bytes(b"PK nothing")
    (tmp_path / "words.md").write_text("Only words.")
    (tmp_path / "wordless.md").write_text("![](a.png)")
    found, dropped = built([tmp_path], tmp_path / "out/c.jsonl")
    assert set(found) == {"good"}
    assert [(i.source, i.alt, i.position) for i in found["good"].images] == [("../a.png", "the one", 3)]
    assert len(found["good"].sentences) == 4
    assert sorted([rule, item.removeprefix(f"{tmp_path}/"), reason] for rule, item, reason in dropped) == [
        [UNREAD, "broken.docx", "cut off or damaged: it cannot be unpacked; download or save it again"],
        [BARE, "wordless.md", "no sentences"],
        [BARE, "words.md", "no picture that can be used"],
        ["picture: not found beside the document", "good.md: gone.png", ""],
        [
            "picture: smaller than 64 px",
            "good.md: icon.png",
            "smaller than 64 px (16 × 16): an icon or a spacer",
        ],
        ["picture: the same picture as an earlier one", "good.md: a.png", "the same picture as a.png"],
    ]


def test_nothing_to_be_read_or_used_is_an_error(tmp_path):
    docs = pages(tmp_path / "docs", "Only words.")
    (docs / "empty.md").write_bytes(b"")
    output = tmp_path / "out/c.jsonl"
    with pytest.raises(DocumentError, match="1 of 1 documents cannot be read"):
        built([docs / "empty.md"], output)
    with pytest.raises(CorpusError, match="none of 2 documents has both"):
        built([docs], output)
    with pytest.raises(DocumentError, match="no documents in"):
        built([tmp_path / "out"], output)
    assert list(output.parent.iterdir()) == []


def test_ids_are_ways_from_the_folder_and_unique(tmp_path, picture):
    picture("a/x.png")
    for name in ("a/one.md", "a/one.html", "a/b/one.md", "a/b/two.md", "b/two.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<p>A.</p>\n\n<img src='{'../' * (name.count('/') - 1)}x.png'>\n")
    picture("b/x.png")
    found, _ = built(
        [tmp_path / "a", tmp_path / "b", tmp_path / "a/b/two.md", tmp_path / "b/../b"], tmp_path / "c.jsonl"
    )
    assert list(found) == ["one.html", "one.md", "b/one", "b/two", "two"]
    found, _ = built([tmp_path / "b/two.md", tmp_path / "a/b"], tmp_path / "c.jsonl", allow_outside=True)
    assert list(found) == ["two", "one", "two#2"]


def test_a_document_that_no_corpus_can_hold_stops_nothing(tmp_path, picture):
    picture("docs/a.png")
    docs = pages(tmp_path / "docs", "A.\n\n![](a.png)", "B.\n\n![](a.png)")
    good, bad = read_all([docs])
    item = (str(docs / "0.md"), str(docs), "0")
    broken = replace(bad, title="\ud800")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("iconotext.corpus.builders.folder.read_documents", lambda *_, **__: iter([broken, good]))
        found = _read(item, Settings(source=[docs]), tmp_path, tmp_path / "c_images")
    assert [document["values"]["id"] for document in found["documents"]] == [good.id]
    ((rule, place, reason),) = found["dropped"]
    assert (rule, place) == (UNREAD, str(docs / "0.md"))
    assert "half of a surrogate pair" in reason


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_file_names_that_are_no_utf8(tmp_path, picture):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    os.rename(picture("a.png"), folder + b"/a.png")
    os.rename(picture("b.png", seed=1), tmp_path / "b.png")
    with open(folder + b"/guide.md", "w") as file:
        file.write("A sentence.\n\n![](a.png)\n\n![](../b.png)\n")
    found, dropped = built([tmp_path], tmp_path / "c.jsonl")
    (document,) = found.values()
    assert document.id == "caf?/guide"
    assert [image.source for image in document.images] == ["b.png"]
    assert document.meta["source"] == "caf?/guide.md"
    assert dropped[0][0] == "picture: the name of its file, or of a folder above it, is not UTF-8: rename it"


@pytest.mark.parametrize(
    ("validation", "test", "documents", "images", "expected"),
    [
        (0.1, 0, 23, 157, 5),  # 50 images would need 8, more than a quarter
        (0.1, 0, 100, 300, 17),  # 17 documents have 51 images on average, 16 have 48
        (0.1, 0, 1000, 5000, 100),  # a tenth has enough
        (0, 0.1, 100, 300, 0),  # nobody asked for validation
        (0.1, 0.6, 20, 20, 5),  # 5 and 12 leave 3 to train on
        (0.1, 0.8, 20, 20, 2),  # 5 and 16 would leave none
        (0.1, 0, 10, 0, 2),
    ],
)
def test_validation_gets_documents_with_fifty_images_but_no_more_than_a_quarter(
    validation, test, documents, images, expected
):
    shares = at_least_two(Shares(validation, test), documents, images)
    assert shares.counts(documents)["validation"] == expected


@given(st.integers(0, 60), st.sampled_from([0, 0.01, 0.1, 0.4]), st.sampled_from([0, 0.01, 0.3]))
def test_small_corpora_have_two_documents_to_validate_on_where_two_are_left_to_train_on(count, validation, test):
    wanted = Shares(validation, test)
    found = at_least_two(wanted, count, 50 * count).counts(count)
    parts = (validation > 0) + (test > 0)
    for name, share in (("validation", validation), ("test", test)):
        assert found[name] == 0 if share == 0 else found[name] >= wanted.counts(count)[name]
        if share and count - 2 * parts >= 2 and validation + test < 0.5:
            assert found[name] >= 2
        elif share and count - parts >= 2 and validation + test < 0.5:
            assert found[name] >= 1
    if count >= 2:
        assert sum(found.values()) <= max(count - 1, sum(wanted.counts(count).values()))


@pytest.mark.slow
def test_documents_that_share_a_picture_stay_together_and_a_seed_decides(tmp_path, picture):
    for i in range(20):
        picture(f"docs/{i}.png", seed=i)
    docs = pages(tmp_path / "docs", *(f"A sentence.\n\n![]({i // 2}.png)" for i in range(40)))

    def splits(seed, workers=1):
        found, _ = built([docs], tmp_path / "c.jsonl", validation=0.1, test=0.1, seed=seed, workers=workers)
        return [found[str(i)].split for i in range(40)]

    found = splits(0)
    counts = {name: found.count(name) for name in ("train", "validation", "test")}
    assert counts == {"train": 26, "validation": 10, "test": 4}
    assert found[::2] == found[1::2]
    data = (tmp_path / "c.jsonl").read_bytes()
    assert splits(0, workers=2) == found
    assert (tmp_path / "c.jsonl").read_bytes() == data
    assert splits(1) != found


def test_a_picture_in_all_documents_is_named(tmp_path, picture):
    picture("docs/shared.png")
    for i in range(9):
        picture(f"docs/{i}.png", seed=i + 1)
    docs = pages(tmp_path / "docs", *(f"A.\n\n![](shared.png)\n\n![]({i}.png)" for i in range(9)))
    with pytest.raises(CorpusError, match=r"docs/shared\.png is in 9 of 9 documents: take it out .* validation=0"):
        built([docs], tmp_path / "c.jsonl", validation=0.1)
    found, _ = built([docs], tmp_path / "c.jsonl")
    assert {document.split for document in found.values()} == {"train"}


def test_a_folder_that_cannot_be_written_to(tmp_path):
    docs = pages(tmp_path / "docs", f"A.\n\n![]({data_address(png())})")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        built([docs], tmp_path / "file/c.jsonl")
    (tmp_path / "c_images").write_text("")
    with pytest.raises(OutputError, match="c_images"):
        built([docs], tmp_path / "c.jsonl")


def test_links_are_those_of_the_rule(tmp_path, picture):
    picture("docs/a.png")
    docs = pages(tmp_path / "docs", "# Title\n\nOne. Two.\n\n![](a.png)\n\nThree.\n")
    found, _ = built([docs], tmp_path / "c.jsonl", links=True, validation=0.1)
    assert found["0"].links == ((1, 0), (2, 0))
    report = json.loads((tmp_path / "c.report.json").read_text())
    assert {"what": "pictures with a link", "found": 1} in report["counts"]
    assert report["notes"] == ["too few documents to leave any for validation: give more, or validation=0"]


def test_pictures_on_the_web_are_fetched_only_when_asked_for(tmp_path, monkeypatch):
    fetched: list[str] = []

    def fetch_images(addresses, folder, *, interval):
        for address in addresses:
            fetched.append(address)
            file = folder / f"{name_of(address)}.png"
            if "good" in address:
                folder.mkdir(exist_ok=True)
                file.write_bytes(png(len(fetched)))
            yield Fetched(address, file) if "good" in address else Fetched(address, None, "its server answered 404")

    monkeypatch.setattr("iconotext.corpus.builders.build.fetch_images", fetch_images)
    docs = pages(
        tmp_path / "docs",
        "A.\n\n![](https://a.example/good1.png)\n\nB.\n\n![](//b.example/good2.png)\n\n![](http://a.example/bad.png)\n",
        "C.\n\n![](https://a.example/good1.png)\n",
    )
    odd = docs / ("a: b.md" if sys.platform != "win32" else "a b.md")
    odd.write_text("D.\n\n![](https://a.example/good1.png) ![](http://a.example/bad.png)\n")
    with pytest.raises(CorpusError, match="on the web: the option fetch fetches it"):
        built([docs], tmp_path / "c.jsonl")
    found, dropped = built([docs], tmp_path / "c.jsonl", fetch=True)
    assert fetched == ["https://a.example/good1.png", "https://b.example/good2.png", "http://a.example/bad.png"]
    assert [len(document.images) for document in found.values()] == [2, 1, 1]
    assert {image.file.parent.name for document in found.values() for image in document.images} == {"c_images"}
    assert dropped == [
        ["picture: on the web and not fetched", f"{file}: http://a.example/bad.png", "its server answered 404"]
        for file in (docs / "0.md", odd)
    ]
