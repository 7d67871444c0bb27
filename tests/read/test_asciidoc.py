"""AsciiDoc. What stands in the texts was counted by hand."""

from __future__ import annotations

import logging

import pytest

from iconotext.errors import HostileDocumentError
from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.read.asciidoc import MAX_DEPTH, MAX_VALUE, parse_attributes
from tests.support.articles import ASCIIDOC
from tests.support.reading import read_as, texts


def adoc(folder, text, name="a.adoc"):
    return read_as(folder / name, text)


def test_pictures_captions_and_references(tmp_path):
    document = adoc(tmp_path, ASCIIDOC)
    assert [(image.source, image.alt, image.caption) for image in document.images] == [
        ("img/old.png", "A tram", "The old tram"),
        ("img/new.png", "Red, and new", "The new one"),
        ("img/bell.png", "A bell", None),
        ("img/in-item.png", None, None),
        ("img/l.png", None, "Two trams"),
        ("img/r.png", None, "Two trams"),
        ("img/cell.png", None, None),
        ("code:graphviz", None, "Who calls"),
    ]
    assert [(sentence.text, sentence.kind) for sentence in document.sentences] == [
        ("Trams", "heading"),
        ("Trams of Basel & Bern, see Figure 1, the new one and both; not [gone].", "paragraph"),
        ("Details", "heading"),
        ("It rings: New Tram.", "paragraph"),
        ("One item that goes on", "item"),
        ("within", "item"),
        ("Take care.", "paragraph"),
        ("Quoted.", "quote"),
        ("Prices", "paragraph"),
        ("Town", "cell"),
        ("Price", "cell"),
        ("Bern", "cell"),
        ("Term", "item"),
        ("Meaning.", "item"),
    ]
    evidence = reference_evidence(document) == EXPLICIT
    assert evidence[1].tolist() == [True, True, False, False, True, True, False, False]
    assert evidence[3].tolist() == [False, True, False, False, False, False, False, False]
    assert evidence.sum() == 5


def test_conditions(tmp_path):
    text = ":a:\nifdef::a[]\nOne.\nendif::[]\n\nifndef::a[]\nTwo.\nendif::[]\n\nifdef::b[Three.]\nifdef::a[Four.]\n\nifdef::backend-html5[]\nFive.\nendif::[]\n"
    assert texts(adoc(tmp_path, text)) == ["One.", "Four.", "Five."]


def test_files_that_it_includes_lie_within_the_folder(tmp_path, caplog):
    (tmp_path / "secret.adoc").write_text("Secret.")
    docs = tmp_path / "docs"
    (docs / "parts").mkdir(parents=True)
    (docs / "parts" / "one.adoc").write_text("Part one.\n\ninclude::../a.adoc[]\n\ninclude::two.adoc[]\n")
    (docs / "parts" / "two.adoc").write_text("== Part two\n")
    names = ["{parts}/one.adoc", "../secret.adoc", "/etc/hostname", "gone.adoc", "https://example.org/a.adoc"]
    with caplog.at_level(logging.WARNING):
        document = adoc(docs, ":parts: parts\n\nText.\n\n" + "".join(f"include::{name}[]\n\n" for name in names))
    assert texts(document) == ["Text.", "Part one.", "Part two"]
    assert [line.split(", ")[0].split(": ")[-1] for line in caplog.messages] == names[1:]


def test_values_that_hold_values_do_not_unfold(tmp_path):
    bomb = ":a0: " + "x" * 90 + "\n" + "".join(f":a{n}: " + f"{{a{n - 1}}}" * 20 + "\n" for n in range(1, 20))
    (sentence,) = texts(adoc(tmp_path, bomb + "\nA {a19} b.\n"))
    assert len(sentence) < MAX_VALUE + 10
    with pytest.raises(HostileDocumentError, match="its attributes add more than 16 MiB"):
        adoc(tmp_path, bomb + "\n" + "{a19} " * 5_000)


def test_blocks_nest_only_so_deep(tmp_path):
    text = "".join("=" * (n + 4) + "\n" for n in range(MAX_DEPTH - 1)) + "Deep.\n"
    assert texts(adoc(tmp_path, text)) == ["Deep."]
    assert texts(adoc(tmp_path, "".join("=" * (n + 4) + "\n" for n in range(MAX_DEPTH + 5)) + "Deep.\n")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("*a* __b__c `d` +e+ ^f^ ~g~ #h#", "a bc d e f g h"),
        ("2 * 3 * 4 and a_b_c &#926; &lt;", "2 * 3 * 4 and a_b_c Ξ <"),
        ("https://example.org[Site] link:a.html[Page^] ((term)) pass:[<b>x</b>] kbd:[F1]", "Site Page term x F1"),
        ("`\\https://a.org/?c=[INFO]` https://y.org[there]", "https://a.org/?c=[INFO] there"),
        ("Text.footnote:[A note.] stem:[x^2] <b> {gone} \\{town}", "Text. x² <b> {gone} {town}"),
    ],
)
def test_text_within_a_paragraph(tmp_path, text, said):
    assert " ".join(texts(adoc(tmp_path, text))) == said


def test_attributes():
    assert parse_attributes('a b, 300,role="x, y",k=v') == (["a b", "300"], {"role": "x, y", "k": "v"})
    assert parse_attributes("") == ([], {})
