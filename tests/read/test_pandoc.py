"""The formats that pandoc reads: each with a small document of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from lxml import etree
from lxml.html import HtmlElement

from iconotext import extras, read
from iconotext.errors import DocumentError, HostileDocumentError, IconotextError, MissingPackageError
from iconotext.evidence.reference import reference_evidence
from iconotext.read import ReadSettings, find_documents
from iconotext.read.pandoc import convert
from iconotext.read.pandoc.convert import mend
from iconotext.read.pandoc.latex import join_files
from iconotext.read.pandoc.readers import check_bounds, included_files
from tests.support.pandoc import DOCBOOK, JATS, LATEX, MEDIAWIKI, ORG, TYPST, pandoc
from tests.support.reading import read_as

READ = {
    "tex": (LATEX, "Figure 1 and Figure 2 show it.|Look at Figure 3 (a).", "Two depots. Left.", {3: [0, 1], 4: [2]}),
    "org": (ORG, "Figure 1 and the new one show it.|Look at Figure 3.", "A depot.", {3: [0, 1], 4: [2]}),
    "dbk": (DOCBOOK, "See Figure 1 and the new one.|Look at Figure 3.", "A depot.", {3: [0, 1], 4: [2]}),
    "jats": (JATS, "See both.|Look at the third.", "A depot.", {3: [0, 1], 4: [2]}),
    "mediawiki": (MEDIAWIKI, "See the old one below.", "A depot.", {2: [0]}),
    "typ": (TYPST, "Figure 1 and Figure 2 show it.|Look at the depot.", "A depot.", {3: [0, 1], 4: [2]}),
}
"""Of each format a document, the sentences between those of all, its last caption, and the pictures of its sentences."""

ALTS = {"dbk": "A red tram", "jats": "A red tram", "typ": "A red tram"}


@pytest.fixture
def document(tmp_path, picture):
    for number, name in enumerate("abc"):
        picture(f"img/{name}.png", seed=number)
    return lambda text, name: read_as(tmp_path / name, text)


@pytest.mark.parametrize("suffix", READ)
def test_a_document_with_figures_and_references(document, tmp_path, suffix):
    text, middle, caption, points = READ[suffix]
    title = [] if suffix == "mediawiki" else ["Trams"]
    sentences = [*title, "The start", "The first sentence.", *middle.split("|"), "Last words."]
    labels = ("Figure 1. ", "Figure 2. ") if suffix == "jats" else ("", "")
    found = document(text, f"a.{suffix}")
    assert [s.text for s in found.sentences] == sentences
    assert found.title == sentences[0]
    assert found.sentences[0].kind == "heading"
    assert [image.problem for image in found.images] == [None] * 3
    assert [Path(image.file).name for image in found.images] == ["a.png", "b.png", "c.png"]
    assert [i.caption for i in found.images] == [f"{labels[0]}The old tram.", f"{labels[1]}The new tram.", caption]
    evidence = reference_evidence(found)
    pointed = {i: [j for j in range(3) if evidence[i, j] == 1] for i in range(len(sentences))}
    assert {i: images for i, images in pointed.items() if images} == points
    assert found.images[0].alt == ALTS.get(suffix)
    assert found.images[0].position == max(min(points), 2) + 1


def test_pictures_inside_the_file(document, tmp_path):
    text = "# Trams\n\nThe first sentence.\n\n![](img/a.png)\n\nBetween, see [there](#x).\n\n![](img/b.png)\n\nLast words.\n"
    found = document(pandoc(text, "rtf", tmp_path), "a.rtf")
    assert [s.text for s in found.sentences] == [
        "Trams", "The first sentence.", "Between, see there.", "Last words.",
    ]  # fmt: skip
    assert [(i.file, i.alt, i.problem) for i in found.images] == [
        ((tmp_path / f"img/{name}.png").read_bytes(), None, None) for name in "ab"
    ]
    assert [i.position for i in found.images] == [2, 3]


def test_formats_are_told_by_their_first_bytes(document, tmp_path):
    for data in (DOCBOOK, JATS, pandoc("Words.", "rtf", tmp_path)):
        assert document(data, "file.xml").sentences


def test_files_that_a_document_takes_in(document, tmp_path, caplog):
    outside = tmp_path.parent / "outside.tex"
    outside.write_text("Secret words.")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/one.tex").write_text(r"From a part. \input{parts/two}")
    (tmp_path / "parts/two.tex").write_text("From a part of it.")
    (tmp_path / "parts/link.tex").symlink_to(outside)
    text = r"\input{parts/one}\input{parts/link} \input{../outside} \input{/etc/passwd} \include{gone}"
    found = document(f"\\begin{{document}}{text}\\end{{document}}", "a.tex")
    assert [s.text for s in found.sentences] == ["From a part.", "From a part of it."]
    for name in ("parts/link.tex", "../outside.tex", "/etc/passwd.tex", "gone.tex"):
        assert f"{name} is not read (line 1 column" in caplog.text
    assert caplog.text.count("a.tex: ") == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.org", 'Words.\n\n#+INCLUDE: "/etc/passwd"\n\n#+INCLUDE: "part.txt"\n'),
        ("a.typ", 'Words.\n\n#include "part.txt"\n'),
    ],
)
def test_other_formats_take_in_files_too(document, tmp_path, caplog, name, text):
    (tmp_path / "part.txt").write_text("From a part.\n")
    found = document(text, name)
    assert [s.text for s in found.sentences] == ["Words.", "From a part."]
    assert ("/etc/passwd is not read" in caplog.text) == ("passwd" in text)


def test_what_pandoc_cannot_draw_is_told(document, caplog):
    document(r"\begin{document}Words.\begin{tikzpicture}\draw (0,0);\end{tikzpicture}\end{document}", "a.tex")
    assert r"a.tex: \begin{tikzpicture} is not read at line 1" in caplog.text


def test_of_many_parts_that_are_not_read_some_are_named(document, caplog):
    document("Words.\n" + "".join(f"\\input{{gone{n}}}\n" for n in range(30)), "a.tex")
    assert len(caplog.records) == convert.MAX_LISTED + 1
    assert "25 more parts are not read" in caplog.text


def test_each_file_is_taken_in_once(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.typ").write_text("x" * 100)
    main = tmp_path / "main.typ"
    each = '#include "a.typ"\n#include "b.typ"\n'
    assert included_files(each, "typst", main, ReadSettings()) == ["a.typ", "b.typ"]
    (tmp_path / "a.typ").write_text(f'{each}#include "main.typ"')  # a circle
    assert included_files(each, "typst", main, ReadSettings(allow_outside=True)) == ["a.typ", "b.typ"]
    (tmp_path / "a.tex").write_text(r"A \input{a} \input{main} \input{b}")
    (tmp_path / "b.tex").write_text("B")
    (tmp_path / "main.tex").write_text(r"\input{a}")
    joined = join_files(r"\input{a}", tmp_path / "main.tex", ReadSettings(allow_outside=True))
    assert joined.text.split() == ["A", "B"]


def test_pictures_keep_to_the_rules_of_addresses(document):
    found = document(
        "Words.\n\n[[https://x.example/a.png]]\n\n[[file:../../secret.png]]\n\n[[file:/etc/passwd.png]]\n",
        "a.org",
    )
    assert found.images[0].problem == "a picture on the web: the option fetch fetches it"
    assert all(image.problem and image.file is None for image in found.images)


def test_raw_html_is_not_run_and_code_is_no_text(document):
    found = document(
        "Words.\n\n#+HTML: <script>bad()</script><img src='img/a.png' alt='A tram'>\n\n#+BEGIN_SRC python\nx = 1\n#+END_SRC\n",
        "a.org",
    )
    assert [s.text for s in found.sentences] == ["Words."]
    assert [i.alt for i in found.images] == ["A tram"]


def test_footnotes_stand_at_the_end_and_leave_no_number(document):
    found = document("Some words[fn:1] here.\n\nMore.\n\n[fn:1] The note.\n", "a.org")
    assert [s.text for s in found.sentences] == ["Some words here.", "More.", "The note."]


@pytest.mark.usefixtures("in_this_process")
def test_without_the_extra_one_line_says_what_to_install(document, monkeypatch, tmp_path):
    real = find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pypandoc" else real(name))
    with pytest.raises(MissingPackageError, match=r'a.org: reading Org needs pypandoc, .*formats\]"$'):
        document("Words.", "a.org")
    (tmp_path / "b.md").write_text("Words.")
    skipped: Counter[str] = Counter()
    assert [path.name for path, _ in find_documents([tmp_path], skipped=skipped)] == ["b.md"]
    assert skipped[".org"] == 1


HOSTILE = {
    "macros.tex": "".join(
        f"\\newcommand{{\\{a}}}{{{(chr(92) + b) * 10}}}" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + r"\newcommand{\j}{words words words}\a\a",
    "circle.tex": r"\newcommand{\a}{x\a}\a",
    "circle.typ": "#let f(x) = f(x)\n#f(1)\n",
    "endless.typ": "#for i in range(1000000000) [x ]\n",
    "tables.wiki": "{|" * 20_000,
    "quotes.wiki": "''" * 50_000 + "\n" + "[[" * 50_000,
    "laughs.dbk": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    + "]><article><para>&j;</para></article>",
    "laughs.jats": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">]><article><body><p>&a;</p></body></article>',
    "entity.dbk": '<!DOCTYPE a [<!ENTITY a SYSTEM "/etc/passwd">]><article><para>Words &a;</para></article>',
    "braces.tex": "{" * 50_000 + "a" + "}" * 50_000,
    "groups.rtf": "{\\rtf1" + "{" * 50_000 + "a" + "}" * 50_000 + "}",
}


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", HOSTILE)
def test_bombs_end_in_one_line(tmp_path, monkeypatch, name):
    """Within the bounds, here of five seconds, there is a document or one of our errors, and nothing of passwords."""
    monkeypatch.setattr(convert, "MAX_SECONDS", 5)
    (tmp_path / name).write_text(HOSTILE[name])
    try:
        found = read(tmp_path / name)
    except IconotextError as error:
        assert str(error).count("\n") == 0
        assert name in str(error)
    else:
        assert "root:" not in " ".join(s.text for s in found.sentences)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.dbk", b"<article><para>", "pandoc cannot read it as DocBook"),
        ("a.jats", b"<article><body>", "not well-formed XML"),
        ("a.typ", b"#let x = (\n", "pandoc cannot read it as Typst"),
    ],
)
def test_broken_documents(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DocumentError, match=message) as error:
        read(tmp_path / name)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")
def test_pandoc_ends_with_whom_it_works_for(tmp_path):
    """Killed while it waits, the reader leaves no pandoc behind: the system ends it, as after its time of work."""
    fake = tmp_path / "pandoc"
    fake.write_text("#!/bin/sh\nulimit -t > limit\necho $$ > number.new\nmv number.new number\nexec sleep 600\n")
    fake.chmod(0o755)
    code = f"""
from pathlib import Path
from iconotext.read.pandoc import convert
from tests.support.reading import read_as
convert._program = lambda _format: Path({str(fake)!r})
convert.to_html(b"a" * 150_000, "latex", folder=Path({str(tmp_path)!r}))
"""
    with subprocess.Popen([sys.executable, "-c", code]) as reader:
        while not (tmp_path / "number").exists():
            assert reader.poll() is None
            time.sleep(0.05)
        reader.kill()
    assert (tmp_path / "limit").read_text().strip() == "18"
    status = Path("/proc", (tmp_path / "number").read_text().strip(), "status")
    for _ in range(6000):
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.05)
    raise AssertionError("pandoc goes on")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tex", "Text\n" + "{" * 300, "line 2: nested more than 255 deep"),
        ("a.tex", "\\begin{a}" * 300, "line 1: nested more than 255 deep"),
        ("a.wiki", "[[" * 300, "line 1: nested more than 255 deep"),
        ("a.wiki", "{{" * 300, "line 1: nested more than 255 deep"),
        ("a.org", "* h\n" * 5_001, "more than 5,000 headings: split it"),
    ],
)
def test_what_pandoc_takes_minutes_for_is_refused_before(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(HostileDocumentError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("text", ["{a}" * 1_000 + "\\{" * 1_000, "}" * 1_000 + "{a}", "\\begin{a}b\\end{a}" * 1_000])
def test_what_closes_is_not_nested(text):
    check_bounds(text, "latex")


def test_labels_are_told_apart_without_counting_them():
    class Counted(HtmlElement):  # type: ignore[misc]  # lxml.html has no types
        def __len__(self):
            raise AssertionError("counts all children")

    parser = etree.HTMLParser()
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=Counted))
    labels = "".join(f'<span id="l{n}"></span> ' for n in range(50))
    page = f'<figure><img src="a.png"></figure><p><span id="own"></span></p><p>{labels}</p>'
    tree = etree.fromstring(f"<html><body>{page}</body></html>", parser)
    mend(tree, "typst")
    assert tree.find(".//figure").get("id") == "own"
    assert len(tree.xpath(".//p")) == 1
    assert len(tree.xpath(".//span")) == 50


def test_what_is_dropped_leaves_the_text_behind_it():
    note = '<a class="footnote-ref" href="#f"><sup>1</sup></a>'
    tree = etree.fromstring(
        f"<html><body><p>{note}a{note}<b>b</b>{note}c{note} d</p></body></html>", etree.HTMLParser()
    )
    mend(tree, "latex")
    assert etree.tostring(tree.find(".//p")) == b"<p>a<b>b</b>c d</p>"
