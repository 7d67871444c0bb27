"""Documents made to take hours or gigabytes: each is read in time proportional to its size, or refused with one line."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read import Failure, ReadSettings, read, read_all
from iconotext.read import sentences as splitting
from iconotext.read.html import MAX_CANDIDATES, image_sources, parse_html
from iconotext.read.markdown import MAX_FRONT_MATTER, split_front_matter
from iconotext.read.office import MAX_BASES
from tests.support.docx import Making, blip, run
from tests.support.epub import book
from tests.support.pdf import Sheet, jpeg, write_pdf
from tests.support.reading import read_as, texts

LONG = "A paragraph of running text that is long enough to count as the middle of an article."
SECONDS = 60
"""CPU time for one document, to end those that took minutes; in linear time each takes less than half a second."""
PAGES = {
    "srcset": f"<p>{LONG}</p><img srcset='{'a' * 40_000} b'>",
    "spaces-in-srcset": f"<p>{LONG}</p><img srcset='a{' ' * 40_000}b'>",
    "class": f"<div class='{'-' * 60_000}'>{LONG}</div>",
    "pictures": "<div>" + "<img src=a.png><img src=b.png>" * 3_000 + "</div>",
    "sources": "<picture>" + "<source srcset=a.png></source>" * 3_000 + "<img src=a.png><img src=b.png>" * 1_500,
    "menus": "<div class=menu>" * 240 + f"<p>{LONG}</p>" * 270 + "</div>" * 240,
    "short-paragraphs": f"<div class=menu><p>{LONG}" + "<p>aaaa" * 10_000,
    "short-paragraphs-in-menus": "<div class=menu><p>a" * 100 + "<p>aaaa" * 8_000,
    "wide-cells": "<table><tr>" + "<td rowspan=65534 colspan=1000>a" * 4_000,
}
TEXTS = {
    "quotation-marks": "Hello world. " + "“" * 200_000,
    "shortcodes": "Text.\n\n```\n" + "{{< figure " * 30_000,
    "tags": "Text.\n\n```\n" + "{% img " * 40_000,
    "spaces-in-a-tag": "Text.\n\n{{" + " " * 4_000 + "x",
    "code-that-never-ends": "Text.\n\n```\n" + "{% highlight %}" * 60_000,
    "brackets": "Text {.\n\n```\n" + "![" * 80_000,
    "attribute-lists": "Text.\n\n```\n![](a.png){" + "#" * 100_000,
}
UNMEASURED = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}  # which takes its time
READ_ALL = f"""
import resource, sys, time
from importlib import import_module
from iconotext.read import read
vars(import_module("iconotext.read")).update(run_isolated=lambda function, memory, seconds, *given: function(*given))
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for path in sys.argv[1:]:
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + {SECONDS} + 1, -1))
    read(path)
    print(path)
"""


@pytest.mark.slow
def test_documents_that_took_minutes(tmp_path):
    for name, body in PAGES.items():
        (tmp_path / f"{name}.html").write_text(f"<html lang='en'><body>{body}</body></html>", encoding="utf-8")
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    spaces = f'<w:p><w:r><w:drawing><w:inline><w:docPr descr="{" " * 100_000}x"/></w:inline></w:drawing></w:r></w:p>'
    docx(tmp_path / "alternative-text.docx", PARAGRAPH + spaces)
    left = sorted(path for path in tmp_path.iterdir())
    too_long = []
    while left:  # a document at its limit ends the process
        command = [sys.executable, "-c", READ_ALL, *map(str, left)]
        done = subprocess.run(command, env=UNMEASURED, capture_output=True, text=True)
        left = left[len(done.stdout.splitlines()) :]
        too_long += [f"{left.pop(0).name} {done.stderr[-300:]}"] if left else []
    assert too_long == []


def docx(path: Path, body: str, styles: str = "") -> Path:
    relations = '<Relationships><Relationship Id="a" Type="x/styles" Target="styles.xml"/></Relationships>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", f'<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>')
        file.writestr("word/_rels/document.xml.rels", relations)
        file.writestr("word/styles.xml", f'<w:styles xmlns:w="w">{styles}</w:styles>')
    return path


def style(number: int) -> str:
    named = f'<w:style w:type="paragraph" w:styleId="s{number}"><w:name w:val="s{number}"/>'
    return f'{named}<w:basedOn w:val="s{number + 1}"/></w:style>'


PARAGRAPH = '<w:p><w:pPr><w:pStyle w:val="s0"/></w:pPr><w:r><w:t>One.</w:t></w:r></w:p>'


def test_styles_based_on_each_other(tmp_path):
    top = '<w:style w:type="paragraph" w:styleId="s50"><w:name w:val="heading 1"/></w:style>'
    path = docx(tmp_path / "a.docx", PARAGRAPH, "".join(map(style, range(50))) + top)
    assert [s.kind for s in read(path).sentences] == ["heading"]
    ring = docx(tmp_path / "ring.docx", PARAGRAPH, style(0) + style(1).replace("s2", "s0"))
    assert [s.kind for s in read(ring).sentences] == ["paragraph"]
    path = docx(tmp_path / "a.docx", PARAGRAPH, "".join(map(style, range(MAX_BASES + 5))))
    with pytest.raises(HostileDocumentError, match=r"a\.docx: a style in it is based on more than 100 others"):
        read(path)


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        ('<w:r><w:fldChar w:fldCharType="begin"/></w:r>', "more than 100 fields within each other"),
        ('<w:bookmarkStart w:name="b{n}"/>', "more than 1,000 bookmarks on one paragraph"),
    ],
)
def test_what_no_word_file_has(tmp_path, piece, message):
    body = "".join(piece.replace("{n}", str(n)) for n in range(1_100))
    with pytest.raises(HostileDocumentError, match=message):
        read(docx(tmp_path / "a.docx", f"<w:p>{body}<w:r><w:t>One.</w:t></w:r></w:p>"))


def test_an_alternative_without_content(tmp_path):
    empty = "<w:p><w:r><w:drawing><w:AlternateContent/><w:AlternateContent><w:Choice/></w:AlternateContent></w:drawing></w:r></w:p>"
    assert texts(read(docx(tmp_path / "a.docx", empty + PARAGRAPH))) == ["One."]


def test_the_splitter_sees_a_window_at_a_time(monkeypatch):
    lengths = []
    split = splitting._split

    def recording(text, language):
        lengths.append(len(text))
        return split(text, language)

    whole = "This is sentence number one. Here is another, e.g. a longer one (in brackets). And a third! " * 500
    expected = split(whole, "en")
    monkeypatch.setattr(splitting, "_split", recording)
    assert list(splitting.split_sentences(whole, "en")) == expected  # windows change nothing in ordinary text
    assert max(lengths) <= splitting.WINDOW
    assert sum(lengths) < 3 * len(whole)
    endless = "a" * 35_000
    spans = list(splitting.split_sentences(endless, "en"))
    assert "".join(endless[a:b] for a, b in spans) == endless


def test_deep_nesting_and_long_pieces_are_refused(tmp_path):
    with pytest.raises(HostileDocumentError, match=r"a\.html: elements are nested more than 255 deep"):
        read_as(tmp_path / "a.html", "<html><body>" + "<div>" * 300 + "<p>Deep.</p>")
    with pytest.raises(HostileDocumentError, match="more than 10 million characters"):
        read_as(tmp_path / "a.html", f"<p>One.<img src='data:image/png;base64,{'A' * 10_100_000}'></p><p>Two.")


@pytest.mark.parametrize("tag", ["<p {}>", "<p a='>' {}>", "<p a'=1 {}", "<img {}/>"])
@pytest.mark.parametrize("attribute", ["a{}=1 ", "a{}='x'", "a{}/", "a{} "])
def test_thousands_of_attributes_are_refused(tag, attribute):
    attributes = "".join(attribute.format(n) for n in range(3_000))
    with pytest.raises(HostileDocumentError, match="more than 1,000 attributes"):
        parse_html(f"<html><body>{tag.format(attributes)}One.")


def test_long_values_are_no_attributes():
    words = "one two=three / " * 5_000
    assert parse_html(f"<p title='{words}' class=\"{words}\">One.</p>{words}").text_content().startswith("One.")


def test_a_picture_has_a_bounded_number_of_addresses():
    many = ", ".join(f"{n}.png {n}w" for n in range(1, 1_000))
    sources = "".join(f"<source srcset='{n}.webp'>" for n in range(200))
    page = parse_html(f"<img srcset='{many}'><picture>{sources}<img src='a.png'></picture>")
    assert [len(image_sources(image)) for image in page.iter("img")] == [MAX_CANDIDATES, MAX_CANDIDATES]


ALIASES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n + 1}: &a{n + 1} {{<<: [{', '.join([f'*a{n}'] * 9)}]}}\n" for n in range(12)
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "title"),
    [
        (ALIASES + "title: Trams\n", "Trams"),  # unfolded it has 9 ** 12 values
        ("title: Trams\nx: !!int ''\ny: !!timestamp x\nz: 2020-99-99\n", "Trams"),  # numbers and days that are none
        ("title: 007\n", "007"),
        ("title: &a Trams\nother: *a\n", "Trams"),
        ("title: !!python/object/apply:os.system ['true']\n", None),
        ("title: " + "[" * 5_000 + "\n", None),
        ("x: *unknown\n", None),
        ("\x01: 1\n", None),
    ],
)
def test_front_matter_is_only_names_and_values(head, title):
    text, values = split_front_matter(f"---\n{head}---\nText.")
    assert text == "Text."
    assert values.get("title") == title


def test_toml_of_endless_names():
    assert split_front_matter(f"+++\n{'a.' * 30_000}a = 1\n+++\nText.") == ("Text.", {})


def test_front_matter_of_a_megabyte_is_refused(tmp_path):
    with pytest.raises(HostileDocumentError, match=r"a\.md: its front matter has 65,543 characters, .* shorten it"):
        read_as(tmp_path / "a.md", f"---\ntitle: {'a' * MAX_FRONT_MATTER}\n---\nText.")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["hex", "zlib", "idna", "punycode", "undefined", "unicode_escape", "rot13", "no-such", "utf-7"]
)
def test_a_declared_encoding_that_is_none_counts_for_nothing(tmp_path, name):
    document = read_as(tmp_path / "a.html", f"<html><meta charset='{name}'><body><p>Die Mühle \\x41 am Fluß.</p>")
    assert texts(document) == ["Die Mühle \\x41 am Fluß."]


def some_docx() -> bytes:
    making = Making()
    making.add(run("Text of two sentences. This is the second."))
    making.add(f"<w:r>{blip(making.embed(jpeg()))}</w:r>")
    return making.bytes()


def some_pdf() -> bytes:
    sheet = Sheet()
    sheet.text(72, 80, "A Large Heading", size=18)
    sheet.picture(72, 200, 200, 150, jpeg())
    return write_pdf([sheet, sheet])


@pytest.mark.parametrize(("suffix", "make"), [("docx", some_docx), ("epub", book), ("pdf", some_pdf)])
def test_cut_off_anywhere(tmp_path, suffix, make):
    whole = make()
    for number in range(30):
        try:
            read_as(tmp_path / f"a.{suffix}", whole[: 4 + (len(whole) - 4) * number // 30])
        except DocumentError as error:
            assert "\n" not in str(error)
        else:
            assert suffix == "pdf"  # its reader does without the end of the file


def test_what_no_reader_foresaw_is_one_of_our_errors(tmp_path, monkeypatch):
    module = import_module("iconotext.read")
    monkeypatch.undo()  # the fixture that shows such exceptions as they are
    good, bad = tmp_path / "a.md", tmp_path / "b.md"
    good.write_text("Fine.", encoding="utf-8")
    bad.write_text("Bad.", encoding="utf-8")
    raised: list[Exception] = [KeyError("x\ny"), RecursionError(), MemoryError()]

    def broken(path, _settings):
        if path == bad:
            raise raised[0]
        return reader(path, _settings)

    reader = module.reader_of("markdown")
    monkeypatch.setattr(module, "reader_of", lambda _format: broken)
    monkeypatch.setattr(module, "run_isolated", lambda function, _memory, _seconds, *given: function(*given))
    with pytest.raises(DocumentError, match=r"b\.md: damaged, or a bug of iconotext \(KeyError: 'x\\ny'\)") as caught:
        read(bad)
    assert caught.value.__cause__ is raised[0]
    good_one, failure = read_all([good, bad])
    assert isinstance(failure, Failure)
    assert not isinstance(good_one, Failure)
    for message in ("it is nested too deeply", "it takes more memory than there is"):
        raised.pop(0)
        with pytest.raises(HostileDocumentError, match=rf"b\.md: {message}"):
            read(bad, ReadSettings())
