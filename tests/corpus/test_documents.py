from __future__ import annotations

import base64
import hashlib
import os
import sys
from typing import Any

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext import ReadSettings, read_all, read_corpus, write_corpus
from iconotext.corpus.builders.documents import LeftOut, _at_least_two, build_documents, pictures_folder
from iconotext.corpus.check import check_corpus
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, DocumentError, OutputError
from iconotext.types import Document, Image, Sentence
from tests.read.pdf_writer import Sheet, jpeg, png, write_pdf
from tests.read.test_epub import book


def built(paths, output, shares=None, *, seed=0, **settings):
    """What is read back from a corpus of files, and what was left out."""
    left: list[LeftOut] = []
    results = read_all(paths, ReadSettings(**settings))
    documents = build_documents(results, output, shares or Shares(0, 0), seed=seed, tell=left.append)
    write_corpus(documents, output)
    return {document.id: document for document in read_corpus(output)}, left


def plain(name, *images, text="A."):
    return Document(name, (Sentence(text, 0),), tuple(images))


def data_address(data):
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
def test_what_a_document_says_is_kept(tmp_path, picture, name):
    picture("docs/img/a.png")
    picture("docs/img/b.png", seed=1)
    (tmp_path / "docs/guide.md").write_text(
        '# Ein Titel\n\nEin Satz über ein Haus. Noch ein Satz.\n\n![Haus](img/a.png "Das Haus")\n\n- Ein Punkt der Liste.\n\n'
        "![](img/b.png)\n"
    )
    found, left = built([tmp_path / "docs"], tmp_path / "out" / name, language="de")
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
    assert left == []
    assert not pictures_folder(tmp_path / "out" / name).exists()


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
    folder = pictures_folder(tmp_path / "out/c.jsonl")
    wanted = {
        f"{hashlib.sha256(data).hexdigest()}{suffix}"
        for data, suffix in ((one, ".png"), (two, ".jpg"), (jpeg(), ".jpg"))
    }
    assert {path.name for path in folder.iterdir()} == wanted
    assert found["a"].images[0].source == found["b"].images[0].source
    assert found["a"].images[0].file.read_bytes() == one
    assert found["p"].images[0].source == found["w"].images[0].source
    assert check_corpus(tmp_path / "out/c.jsonl").problems == ()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["c.jsonl", "c_images"]  # nothing waits there


def test_a_picture_that_an_earlier_run_wrote_is_used_again_if_it_is_whole(tmp_path):
    document = plain("a", Image("x", file=png()))
    output = tmp_path / "c.jsonl"
    (first,) = build_documents([document], output, Shares(0, 0))
    file = first.images[0].file
    before = file.stat().st_mtime_ns
    list(build_documents([document], output, Shares(0, 0)))
    assert file.stat().st_mtime_ns == before
    file.write_bytes(b"cut")
    list(build_documents([document], output, Shares(0, 0)))
    assert file.read_bytes() == png()


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b"\xff\xd8\xff\xe0", ".jpg"),
        (b"GIF89a", ".gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", ".webp"),
        (b"BM6", ".bmp"),
        (b"MM\0*", ".tif"),
        (b"\0\0\0 ftypavif", ".avif"),
        (b"\0\0\0\x0cjP  \r\n", ".jp2"),
        (b"who knows", ".img"),
    ],
)
def test_files_have_the_suffix_of_what_they_hold(tmp_path, data, suffix):
    (document,) = build_documents([plain("a", Image("x", file=data))], tmp_path / "c.jsonl", Shares(0, 0))
    assert document.images[0].file.suffix == suffix


def test_what_cannot_be_used_is_told_and_leaves_the_rest_untouched(tmp_path, picture):
    picture("a.png")
    picture("icon.png", size=(16, 16))
    (tmp_path / "good.md").write_text(
        "One.\n\n![](gone.png)\n\nTwo.\n\n![](icon.png)\n\nThree.\n\n![the one](a.png)\n\nFour.\n"
    )
    (tmp_path / "broken.docx").write_bytes(b"PK nothing")
    (tmp_path / "words.md").write_text("Only words.")
    (tmp_path / "wordless.md").write_text("![](a.png)")
    found, left = built([tmp_path], tmp_path / "out/c.jsonl")
    assert set(found) == {"good"}
    assert [(i.source, i.alt, i.position) for i in found["good"].images] == [("../a.png", "the one", 3)]
    assert len(found["good"].sentences) == 4
    told = {(one.kind, one.place.removeprefix(f"{tmp_path}/")): one.problem for one in left}
    assert told == {
        ("unread", "broken.docx"): "cut off or damaged: it cannot be unpacked; download or save it again",
        ("picture", "good.md: gone.png"): "not found beside the document",
        ("picture", "good.md: icon.png"): "smaller than 64 px (16 × 16): an icon or a spacer",
        ("bare", "wordless.md"): "no sentences",
        ("bare", "words.md"): "no picture that can be used",
    }


def test_nothing_to_be_read_or_used_is_an_error(tmp_path):
    (tmp_path / "words.md").write_text("Only words.")
    (tmp_path / "empty.md").write_bytes(b"")
    output = tmp_path / "out/c.jsonl"
    with pytest.raises(DocumentError, match="2 of 2 documents cannot be read"):
        built([tmp_path / "gone.md", tmp_path / "empty.md"], output)
    with pytest.raises(CorpusError, match="none of 1 documents has both"):
        built([tmp_path / "words.md", tmp_path / "empty.md"], output)
    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize(
    "document", [plain("a", Image("x", file=png()), text="\ud800"), plain("\udcff", Image("x", file=png()))]
)
def test_a_document_that_no_corpus_can_hold_stops_nothing(tmp_path, document):
    left: list[LeftOut] = []
    found = list(
        build_documents(
            [document, plain("b", Image("x", file=png()))], tmp_path / "c.jsonl", Shares(0, 0), tell=left.append
        )
    )
    assert [one.id for one in found] == ["b"]
    assert [one.kind for one in left] == ["unread"]
    assert "does not fit into a corpus: document" in left[0].problem


def test_a_title_that_no_file_can_hold_stops_nothing(tmp_path):
    left: list[LeftOut] = []
    bad = Document("a", (Sentence("A."),), (Image("x", file=png()),), title="\ud800")
    good = plain("b", Image("x", file=png()))
    assert [d.id for d in build_documents([bad, good], tmp_path / "c.jsonl", Shares(0, 0), tell=left.append)] == ["b"]
    assert "half of a surrogate pair" in left[0].problem


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_file_names_that_are_no_utf8(tmp_path, picture):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    os.rename(picture("a.png"), folder + b"/a.png")
    os.rename(picture("b.png", seed=1), tmp_path / "b.png")
    with open(folder + b"/guide.md", "w") as file:
        file.write("A sentence.\n\n![](a.png)\n\n![](../b.png)\n")
    found, left = built([tmp_path], tmp_path / "c.jsonl")
    assert [image.source for image in found["guide"].images] == ["b.png"]
    assert found["guide"].meta["source"] == "caf?/guide.md"
    assert [one.problem for one in left] == ["the name of its file, or of a folder above it, is not UTF-8: rename it"]


@given(st.integers(0, 60), st.sampled_from([0, 0.01, 0.1, 0.4]), st.sampled_from([0, 0.01, 0.3]))
def test_small_corpora_have_two_documents_to_validate_on_where_two_are_left_to_train_on(count, validation, test):
    wanted = Shares(validation, test)
    found = _at_least_two(wanted, count).counts(count)
    parts = (validation > 0) + (test > 0)
    for name, share in (("validation", validation), ("test", test)):
        assert found[name] == 0 if share == 0 else found[name] >= wanted.counts(count)[name]
        if share and count - 2 * parts >= 2 and validation + test < 0.5:
            assert found[name] >= 2
        elif share and count - parts >= 2 and validation + test < 0.5:
            assert found[name] >= 1
    if count >= 2:
        assert sum(found.values()) <= max(count - 1, sum(wanted.counts(count).values()))


def test_documents_that_share_a_picture_stay_together_and_a_seed_decides(tmp_path):
    documents = [plain(str(i), Image("x", file=jpeg(i // 2))) for i in range(40)]
    output = tmp_path / "c.jsonl"

    def splits(seed):
        return [d.split for d in build_documents(documents, output, Shares(0.1, 0.1), seed=seed)]

    found = splits(0)
    assert {name: found.count(name) for name in ("train", "validation", "test")} == {
        "train": 32,
        "validation": 4,
        "test": 4,
    }
    assert found[::2] == found[1::2]
    assert splits(0) == found
    assert splits(1) != found


def test_a_picture_in_all_documents_is_named(tmp_path):
    documents = [plain(str(i), Image("logo", file=jpeg()), Image("y", file=jpeg(i + 1))) for i in range(9)]
    logo = hashlib.sha256(jpeg()).hexdigest()
    with pytest.raises(CorpusError, match=rf"{logo}\.jpg is in 9 of 9 documents: take it out .* --validation 0"):
        list(build_documents(documents, tmp_path / "c.jsonl", Shares(0.1, 0)))
    assert {d.split for d in build_documents(documents, tmp_path / "c.jsonl", Shares(0, 0))} == {"train"}


def test_documents_wait_on_disk_and_come_out_one_by_one(tmp_path):
    def results():
        for i in range(3):
            yield plain(str(i), Image("x", file=jpeg(i)))
        read.append(True)

    read: list[bool] = []
    documents: Any = build_documents(results(), tmp_path / "c.jsonl", Shares(0, 0))
    assert next(documents).id == "0"
    assert read == [True]
    documents.close()
    assert [path.name for path in tmp_path.iterdir()] == ["c_images"]


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    documents = [plain("a", Image("x", file=png()))]
    with pytest.raises(OutputError, match="file"):
        list(build_documents(documents, tmp_path / "file/c.jsonl", Shares(0, 0)))
    (tmp_path / "c_images").write_text("")
    with pytest.raises(OutputError, match="c_images"):
        list(build_documents(documents, tmp_path / "c.jsonl", Shares(0, 0)))
