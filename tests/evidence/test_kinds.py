"""The table of kinds of evidence, and kinds of other packages: through Python and through the command."""

from __future__ import annotations

import json

import pytest

from iconotext import Document, Image, Linker, Sentence
from iconotext.decide.combine import OVERRATED
from iconotext.decide.settings import LinkSettings
from iconotext.errors import SettingError
from iconotext.evidence.kinds import EVIDENCE, EvidenceKind, evidence_names
from tests.support.program import run

CODE = """
import numpy as np
from iconotext.evidence.kinds import EvidenceKind

def last(document):
    matrix = np.zeros((len(document.sentences), len(document.images)))
    matrix[-1:] = 1
    return matrix

def small(document):
    return np.zeros((1, 1))

def broken(document):
    raise KeyError("colour")

def kind(function):
    return EvidenceKind(name=function, summary="for a test", function=f"kinds_of_a_test:{function}", weight=12.0)

last_kind, small_kind, broken_kind = map(kind, ("last", "small", "broken"))
"""


@pytest.fixture(autouse=True)
def package(install_package):
    """An installed package with three kinds of evidence."""
    entries = {name: f"kinds_of_a_test:{name}_kind" for name in ("last", "small", "broken")}
    install_package("kinds_of_a_test", CODE, "iconotext.evidence", **entries)


def article(picture):
    texts = ("We baked bread.", "A dog slept.", "It rained all day.")
    sentences = tuple(Sentence(text, n) for n, text in enumerate(texts))
    return Document("d", sentences, (Image("a.png", picture("a.png"), caption="A dog", position=1),))


def linked(picture, *kinds, **settings):
    return Linker.load(settings=LinkSettings(evidence=kinds, relations="none", **settings)).link(article(picture))


def test_the_table_has_the_kinds_that_ship_and_then_the_others():
    assert evidence_names() == (*EVIDENCE, "broken", "last", "small")
    assert LinkSettings().evidence == ("picture", "caption", "layout", "reference")  # others only if they are chosen


def test_a_kind_of_another_package_is_weighed_as_it_says_and_shown(picture):
    without, found = (
        linked(picture, "caption"),
        linked(picture, "last", "caption", k=99, min_confidence=0),
    )
    assert {link.sentence: link.evidence["last"] for link in found.links} == {0: 0.0, 1: 0.0, 2: 12.0}
    caption = {link.sentence: link.evidence["caption"] for link in found.links}
    assert caption[1] == pytest.approx(without.links[0].evidence["caption"])
    assert (without.links[0].sentence, found.links[0].sentence) == (1, 2)


def test_alone_it_decides_and_without_it_nothing_changes(picture):
    (best, *_) = linked(picture, "last").links
    assert (best.sentence, best.evidence) == (2, {"last": 12.0})
    assert best.confidence > 0.9 * (1 - OVERRATED)


@pytest.mark.parametrize(
    ("kind", "message"), [("small", r"gave an array of shape \(1, 1\); \(3, 1\)"), ("broken", "KeyError: 'colour'")]
)
def test_what_is_wrong_with_it_names_it(picture, kind, message):
    with pytest.raises(SettingError, match=f"the evidence {kind} .*{message}"):
        linked(picture, kind)


def test_a_function_that_is_missing_is_an_error_of_ours(picture):
    gone = EvidenceKind(name="gone", summary="for a test", function="kinds_of_a_test:gone", weight=1.0)
    with pytest.raises(SettingError, match="the evidence gone failed: AttributeError"):
        gone.features([article(picture)], [])


def test_the_command_takes_it(tmp_path, picture):
    picture("a.png")
    (tmp_path / "a.md").write_text("We baked bread.\n\nA dog slept.\n\n![A dog](a.png)\n\nIt rained all day.\n")
    (out,) = json.loads(run("link", tmp_path / "a.md", "--evidence", "last,caption", "--to", "json").stdout)
    assert out["links"][0]["evidence"]["last"] == pytest.approx(12)
    wrong = run("link", tmp_path / "a.md", "--evidence", "smell", status=2)
    assert "there is picture, caption, ocr, layout, reference, context, broken, last, small" in " ".join(
        wrong.stderr.split()
    )


@pytest.mark.parametrize("wrong", [{"name": "a b"}, {"function": "here"}, {"weight": None}, {"extra": "nothing"}])
def test_a_wrong_row_is_refused(wrong):
    row = {"name": "mine", "summary": "x", "function": "module:name", "weight": 1.0}
    with pytest.raises(ValueError, match="evidence "):
        EvidenceKind(**(row | wrong))
