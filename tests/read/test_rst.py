"""reStructuredText and what Sphinx adds to it. The numbers of references were counted by hand."""

from __future__ import annotations

import logging

import pytest
from lxml import etree

from iconotext.errors import HostileDocumentError
from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.read import ReadSettings, read
from iconotext.read.rst import MAX_LINE, _append_text, on_a_page
from iconotext.read.text_file import MAX_INCLUDED
from tests.support.reading import read_as, texts


def rst(folder, text, name="a.rst"):
    return read_as(folder / name, text)


PAGE = """
Trams
=====

.. _the-old:

.. figure:: img/old.png
   :name: Old_Tram
   :alt: A tram
   :width: 50 %
   :anything: at all

   The old tram.

   It ran until 1970.

.. figure:: img/new.*

   The new tram.

As :numref:`Old_Tram` shows, they were red. See :ref:`the-old`, :ref:`that tram <old_tram>` or :numref:`tram no. %s <the-old>`.
The other one is in :numref:`elsewhere`. Call :py:func:`~trams.ring` or :guilabel:`Ring`.

Details
-------

|bell| rings.

.. |bell| image:: img/bell.png
   :alt: A bell
"""


def test_figures_have_captions_and_names_and_references_point_at_them(tmp_path):
    document = rst(tmp_path, PAGE)
    old, new, bell = document.images
    assert (old.source, old.alt, old.caption) == ("img/old.png", "A tram", "The old tram.")
    assert set(old.anchors) == {"old-tram", "the-old"}
    assert new.caption == "The new tram."
    assert (bell.source, bell.alt) == ("img/bell.png", "A bell")
    assert texts(document) == [
        "Trams",
        "It ran until 1970.",
        "As Fig. 1 shows, they were red.",
        "See Figure 1, that tram or tram no. 1.",
        "The other one is in the figure.",
        "Call ring or Ring.",
        "Details",
        "rings.",
    ]
    assert [sentence.level for sentence in document.sentences if sentence.heading] == [1, 2]
    evidence = reference_evidence(document)
    assert evidence[:, 0].tolist() == [0, 0, EXPLICIT, EXPLICIT, 0, 0, 0, 0]
    assert not (evidence[:, 1] > 0).any()


def test_an_open_ending_is_the_file_that_is_there(tmp_path):
    (tmp_path / "plan b.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='99' height='99'/>")
    (image,) = rst(tmp_path, ".. image:: plan b.*\n\nText.\n").images
    assert image.source == "planb.svg"  # as in docutils, spaces within an address are none
    (image,) = rst(tmp_path, r".. image:: plan%20b.*" + "\n\nText.\n").images
    assert (image.source, image.file) == ("plan%20b.svg", tmp_path / "plan b.svg")


def test_what_is_for_print_alone_and_what_is_no_text(tmp_path):
    document = rst(
        tmp_path,
        ".. toctree::\n\n   other\n\n.. only:: latex\n\n   .. image:: print.png\n\n.. only:: html\n\n   .. image:: page.png\n\n"
        ".. code-block:: python\n\n   code()\n\n.. versionadded:: 2.0 New trams.\n\n.. note::\n\n   Take *care*.\n\n"
        ".. unheard-of:: argument\n   :option: x\n\n   Still text.\n\n.. automodule:: trams\n\n.. math:: a = b\n",
    )
    assert [image.source for image in document.images] == ["page.png"]
    assert texts(document) == ["2.0 New trams.", "Take care.", "Still text."]


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("html", True),
        ("latex", False),
        ("not latex", True),
        ("html or latex", True),
        ("html and draft", False),
        ("", True),
        ("(" * 9_000, True),
    ],
)
def test_what_holds_on_a_page(expression, holds):
    assert on_a_page(expression) is holds


def test_pictures_that_code_makes_are_named(tmp_path):
    code = ".. graphviz::\n   :caption: Who calls whom.\n   :name: calls\n\n   digraph { a -> b }\n\nText."
    (image,) = rst(tmp_path, code).images
    assert (image.source, image.caption, image.anchors) == ("code:calls", "Who calls whom.", ("calls",))
    assert image.problem is not None
    assert image.problem.startswith("made by code")


def test_tables_lists_definitions_and_html(tmp_path):
    document = rst(
        tmp_path,
        "- one\n- two\n\nTerm\n   Its meaning.\n\n.. list-table:: Prices\n\n   * - a\n     - b\n\n"
        ".. raw:: html\n\n   <p>From <b>HTML</b>.</p><img src='h.png' alt='H'>\n\n.. raw:: latex\n\n   \\newpage\n\nEnd:\n\n   quoted\n",
    )
    assert [(s.text, s.kind) for s in document.sentences] == [
        ("one", "item"),
        ("two", "item"),
        ("Term", "item"),
        ("Its meaning.", "item"),
        ("Prices", "paragraph"),
        ("a", "cell"),
        ("b", "cell"),
        ("From HTML.", "paragraph"),
        ("End:", "paragraph"),
        ("quoted", "quote"),
    ]
    assert [image.source for image in document.images] == ["h.png"]


def test_files_that_it_takes_in_lie_within_the_folder(tmp_path, caplog):
    (tmp_path / "secret.txt").write_text("Secret text.")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "link.txt").symlink_to(tmp_path / "secret.txt")
    (docs / "part.txt").write_text("A part.\n\n.. include:: a.rst\n\n.. include:: part.txt\n\nIts end.\n")
    names = ["part.txt", "../secret.txt", "/etc/hostname", "link.txt", "gone.txt", "https://example.org/a.txt"]
    with caplog.at_level(logging.WARNING):
        document = rst(docs, "Text.\n\n" + "".join(f".. include:: {name}\n\n" for name in names))
    assert texts(document) == ["Text.", "A part.", "Its end."]
    assert [line.split(", ")[0].split(": ")[-1] for line in caplog.messages] == names[1:]
    assert "outside the folder docs/" in caplog.messages[0]
    wider = read(docs / "a.rst", ReadSettings(root=tmp_path))
    assert texts(wider) == ["Text.", "A part.", "Its end.", "Secret text."]


def test_included_files_are_counted(tmp_path, caplog):
    for number in range(MAX_INCLUDED + 5):
        (tmp_path / f"{number}.txt").write_text(f"Part {number}.\n\n.. include:: {number + 1}.txt\n")
    document = rst(tmp_path, ".. include:: 0.txt\n")
    assert len(document.sentences) == MAX_INCLUDED
    assert f"more than {MAX_INCLUDED} files" in caplog.text


def test_nothing_else_of_the_machine_is_read(tmp_path):
    (tmp_path / "secret.txt").write_text("a,secret")
    (tmp_path / "docutils.conf").write_text("[general]\nfile_insertion_enabled: yes\n")
    document = rst(
        tmp_path,
        "Text.\n\n.. csv-table::\n   :file: secret.txt\n\n.. raw:: html\n   :file: secret.txt\n\n.. literalinclude:: secret.txt\n",
    )
    assert texts(document) == ["Text."]


def test_endless_lines_and_deep_nesting_are_refused_or_read(tmp_path):
    with pytest.raises(HostileDocumentError, match=r"a line of it has more than 100,000 characters"):
        rst(tmp_path, "a" * (MAX_LINE + 1))
    with pytest.raises(HostileDocumentError, match=r"line 511: it is nested too deeply: more than 255 indentations"):
        rst(tmp_path, "".join(" " * depth + "- a\n\n" for depth in range(0, 4_000, 2)))
    with pytest.raises(HostileDocumentError, match=r"nested too deeply"):
        rst(tmp_path, "- " * 10_000 + "a")
    stairs = "".join(" " * depth + "- a\n\n" for depth in range(0, 100, 2))
    assert texts(rst(tmp_path, stairs * 20)) == ["a"] * 1_000


DOUBLING = "".join(f".. |s{n}| replace:: |s{n + 1}| |s{n + 1}|\n" for n in range(20))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a@b" + "-" * 30_000, "more marks in its paragraphs, or longer words"),
        ("a." * 15_000, "more marks in its paragraphs, or longer words"),
        ("*a " * 15_000, "more marks in its paragraphs, or longer words"),
        ("`a\n" * 15_000, "more marks in its paragraphs, or longer words"),
        ("\n\n".join(["*a " * 2_000] * 30), "more marks in its paragraphs, or longer words"),
        ("\n".join(f".. [#] Note {n}." for n in range(5_001)), "more than 5,000 notes"),
        ("\n".join(f".. [A{n}] Note." for n in range(5_001)), "more than 5,000 citations"),
        ("\n".join(f".. |s{n}| replace:: x" for n in range(2_001)), "more than 2,000 substitutions"),
        ("\n".join(f".. _t{n}:" for n in range(1_001)) + "\n\nText.", "more than 1,000 names of one place"),
        (f"|s0|\n\n{DOUBLING}.. |s20| replace:: x", "more than 100,000 texts that substitutions stand for"),
    ],
)
def test_what_docutils_takes_minutes_for_is_refused(tmp_path, text, message):
    with pytest.raises(HostileDocumentError, match=message):
        rst(tmp_path, f"Text.\n\n{text}\n")


@pytest.mark.slow
def test_long_texts_that_people_write_pass_the_limits_of_docutils(tmp_path):
    links = "".join(f"*Word {n}*, see `here <https://example.org/{'a' * 300}/{n}>`__ and |s|.\n" for n in range(200))
    notes = "\n".join(f".. [#n{n}] Note {n}." for n in range(1_000))
    targets = "\n".join(f".. _t{n}: https://example.org/{n}" for n in range(2_000))
    document = rst(tmp_path, f"{links}\n{notes}\n\n{targets}\n\n.. |s| replace:: this\n")
    assert len(document.sentences) > 1_000


def test_a_text_is_added_behind_many_elements_without_counting_them():
    class Counted(etree.ElementBase):
        def __len__(self):
            raise AssertionError("counts all children")

    lookup = etree.ElementDefaultClassLookup(element=Counted)
    parser = etree.XMLParser()
    parser.set_element_class_lookup(lookup)
    parent = etree.fromstring("<p><i>a</i><i>b</i></p>", parser)
    _append_text(parent, " and")
    _append_text(parent, " more")
    assert etree.tostring(parent) == b"<p><i>a</i><i>b</i> and more</p>"
