from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from iconotext import Document, Image, Linker, LinkSettings, Sentence
from iconotext.decide.combine import weigh_evidence
from iconotext.evidence.caption import Reading
from iconotext.evidence.language import in_script, is_foreign, language_note, main_script, no_meaning
from iconotext.features.backbone import TextBackbone
from tests.support.linking import features

TEXTS = (
    "Zuerst wird das Gehäuse geöffnet und der Akku entfernt, damit nichts passieren kann.",
    "Danach kommt der ESP32 auf die Platine, wie Abbildung 2 zeigt.",
    "Nach 30 Minuten ist die Farbe trocken, und man kann alles wieder zusammensetzen.",
)


def guide(language="de", texts=TEXTS, caption="Abbildung 2: ESP32"):
    sentences = tuple(Sentence(text, block) for block, text in enumerate(texts))
    images = (Image("a.png", b"", caption=caption, block=3, position=3),)
    return Document("guide", sentences, images, language=language)


@pytest.mark.parametrize(
    ("document", "known", "foreign"),
    [
        (guide(), "en", True),
        (guide(), "de", False),
        (guide(), None, False),  # nobody knows what the encoder knows
        (guide("en"), "en", False),
        (guide(texts=("Gehäuse öffnen.", "Fertig.")), "en", False),  # too little to tell
    ],
)
def test_what_counts_as_foreign(document, known, foreign):
    backbone = TextBackbone("x", 3, unused, known and frozenset((known,)))
    assert is_foreign(document, backbone) is foreign


def test_without_meaning_the_words_of_captions_still_count():
    unread = features(guide(), by=no_meaning)
    known = features(guide(), by=lambda texts: np.eye(len(texts), dtype=np.float32))
    for name in ("caption.cos", "caption.block", "caption.match", "caption.rival", "looks.cites"):
        assert not unread.pop(name).any()
        del known[name]
    assert unread["caption.rare"].argmax() == 1  # ESP32
    for name, matrix in known.items():
        np.testing.assert_array_equal(unread[name], matrix)


KOREAN = ("먼저 케이스를 열고 배터리를 꺼냅니다.", "그다음 ESP32 보드를 끼웁니다.", "삼십 분 뒤에 다시 조립합니다.")


@pytest.mark.parametrize(
    ("caption", "compared"), [("The ESP32 board", False), ("ESP32 보드", True), ("32", True), ("Плата ESP", True)]
)
def test_an_english_caption_says_nothing_about_a_text_in_another_script(caption, compared):
    found = features(guide("ko", KOREAN, caption), by=no_meaning)
    assert any(matrix.any() for matrix in found.values()) == compared


def test_a_picture_whose_caption_is_in_another_script_is_judged_by_its_place():
    document = guide("ko", KOREAN, "The ESP32 board and the other parts")
    alone = guide("ko", KOREAN, None)
    alone = replace(alone, images=(replace(alone.images[0], source="1.png"),))
    confidence = [
        weigh_evidence(each, None, Reading(no_meaning), evidence=["caption", "layout"]).confidence
        for each in (document, alone)
    ]
    np.testing.assert_array_equal(*confidence)
    english = guide("en", TEXTS, "The ESP32 board")
    assert any(matrix.any() for matrix in features(english, by=no_meaning).values())


@pytest.mark.parametrize(
    ("texts", "text", "expected"),
    [
        (KOREAN, "보드", True),
        (KOREAN, "board", False),
        (("Wir öffnen das Gehäuse.",), "Плата", False),
        (("Wir öffnen das Gehäuse.",), "Gehäuse", True),
        (("Trong hình này, vỏ máy đã mở.",), "vỏ máy", True),
        (("模型使用 GPU 与 CPU 进行训练和推理。",), "GPU", False),
        (("123",), "1", True),
    ],
)
def test_the_script_of_a_text(texts, text, expected):
    assert in_script(text, main_script(guide(texts=texts))) is expected


def test_the_note_says_what_was_not_compared():
    assert language_note(guide(), picture=False, caption=False, layout=True) is None
    both = language_note(guide(), picture=True, caption=True, layout=True) or ""
    assert "in German, which the model does not know: pictures and captions were not compared" in both
    assert "An encoder that knows German helps" in both
    alone = language_note(guide(), picture=False, caption=True, layout=False) or ""  # as `place` does
    assert "know: captions were not" in alone
    assert ("from layout, references" in both, "from references" in alone) == (True, True)


def unused(*_):
    raise AssertionError("nothing is encoded of a text in a language that is not known")


def made_up(language, read_all=unused):
    backbone = TextBackbone("x", 3, unused, frozenset(("en",)))
    reader = backbone if language else TextBackbone("words", 3, lambda texts: np.zeros((len(texts), 3), np.float32))
    return SimpleNamespace(name="x", reader=reader, read_all=read_all, text_backbone=backbone)


def test_a_linker_neither_looks_at_images_nor_encodes_captions_of_foreign_documents():
    linker = Linker(made_up("en"), LinkSettings(k=1, relations="none"))
    linked = linker.link(guide())
    (note,) = linked.notes
    assert "in German, which the model does not know: pictures and captions were not" in note
    (link,) = linked.links
    assert link.sentence == 1  # cited
    assert set(link.evidence) == {"caption", "layout", "reference"}
    with pytest.raises(AssertionError, match="nothing is encoded"):
        linker.link(guide("en"))
    only_picture = Linker(linker.encoder, LinkSettings(evidence=("picture",), relations="none")).link(guide())
    assert only_picture.links == ()
    assert "know: pictures were not" in only_picture.notes[0]


def test_a_model_that_learned_its_own_words_looks_at_images_of_any_document():
    def read_all(documents):
        similarity = np.array([[0.1], [0.2], [0.9]], np.float32)
        return [SimpleNamespace(document=document, similarity=similarity) for document, _ in documents]

    linked = Linker(
        made_up(None, read_all),
        LinkSettings(evidence=("picture", "caption"), k=1, min_confidence=0, relations="none"),
    ).link(guide())
    assert set(linked.links[0].evidence) == {"picture", "caption"}
    assert "know: captions were not" in linked.notes[0]
