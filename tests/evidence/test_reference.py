from typing import Any

import numpy as np
import pytest

from iconotext.evidence.reference import DIRECTED, EXPLICIT, VAGUE, reference_evidence
from iconotext.types import Document, Image, Sentence
from tests.support.linking import document


def cells(found: Any) -> Any:
    return {(int(i), int(j)): round(float(found[i, j]), 3) for i, j in zip(*found.nonzero(), strict=True)}


def test_links_of_the_markup() -> None:
    sentences = (Sentence("See the tower.", targets=("t", "elsewhere")), Sentence("No."))
    found = reference_evidence(Document("d", sentences, (Image("a.jpg", anchors=("t", "f")), Image("b.jpg"))))
    assert cells(found) == {(0, 0): EXPLICIT}


def test_labels_meet_captions_and_alts() -> None:
    images = [
        Image("a.jpg", caption="Figure 1: A."),
        Image("b.jpg", alt="Fig. 2 B"),
        Image("c.jpg", caption="Table 1: C."),
        Image("d.jpg", caption="Figure 3a. D"),
        Image("e.jpg", caption="Figure 3b. E"),
    ]
    texts = ["Figures 1 and 2.", "Table 1.", "Figure 3 is double.", "Only Fig. 3b.", "Photo 1."]
    found = reference_evidence(document(texts, images, blocks=[None] * 5))
    assert set(cells(found)) == {(0, 0), (0, 1), (1, 2), (2, 3), (2, 4), (3, 4)}


def test_a_repeated_number_means_the_nearest_and_nothing_without_layout() -> None:
    images = [Image("a.jpg", caption="Figure 1: A.", position=1), Image("b.jpg", caption="Figure 1: B.", position=5)]
    texts = ["See Figure 1.", "x", "y", "z", "See Figure 1."]
    assert set(cells(reference_evidence(document(texts, images)))) == {(0, 0), (4, 1)}
    assert not reference_evidence(document(texts, images, blocks=[None] * 5)).any()


def test_a_caption_does_not_cite_itself() -> None:
    image = Image("a.jpg", caption="Figure 1: The tower. Compare Figure 1 again.", block=1, position=1, anchors=("f",))
    sentences = (
        Sentence("Figure 1: The tower.", 1, "caption", ("f",)),
        Sentence("Figure 1: The tower stands.", 2),
        Sentence("Figure 1 shows the tower.", 3),
    )
    assert set(cells(reference_evidence(Document("d", sentences, (image,))))) == {(2, 0)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As the photo above shows.", {(2, 0): DIRECTED}),
        ("(see picture below)", {(2, 1): DIRECTED}),
        ("It is pictured below.", {(2, 1): DIRECTED}),
        ("The following images show it.", {(2, 1): DIRECTED, (2, 2): DIRECTED}),
        ("The following image shows it.", {(2, 1): DIRECTED}),
        ("Auf dem Foto oben sieht man es.", {(2, 0): DIRECTED}),
        ("Das folgende Bild zeigt es.", {(2, 1): DIRECTED}),
        ("La photo ci-dessous le montre.", {(2, 1): DIRECTED}),
        ("La imagen de arriba lo muestra.", {(2, 0): DIRECTED}),
        ("It was seen in this picture.", {(2, 0): VAGUE}),
        ("He is above all a painter, and pictures sell.", {}),
        ("The picture below 3 metres is dark.", {}),
    ],
)
def test_pointing_words(text: Any, expected: Any) -> None:
    images = [Image("a.jpg", position=2), Image("b.jpg", position=4), Image("c.jpg", position=4)]
    found = reference_evidence(document(["x", "y", text, "z"], images))
    assert cells(found) == {cell: pytest.approx(value) for cell, value in expected.items()}


def test_pointing_words_do_not_reach_far() -> None:
    texts = ["The photo below.", "a", "b", "c"]
    assert not reference_evidence(document(texts, [Image("a.jpg", position=4)])).any()
    assert reference_evidence(document(texts, [Image("a.jpg", position=2)])).any()


def test_empty_documents() -> None:
    assert reference_evidence(document([], [Image("a.jpg")])).shape == (0, 1)
    assert reference_evidence(document(["Figure 1"], [])).shape == (1, 0)
    assert reference_evidence(document(["Figure 1"], [])).dtype == np.float32
