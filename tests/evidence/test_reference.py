from typing import Any

import numpy as np
import pytest

from iconotext.evidence.labels import cited_labels, is_caption, own_labels, unlabelled
from iconotext.evidence.reference import DIRECTED, ELSEWHERE, EXPLICIT, VAGUE, reference_evidence
from iconotext.types import Document, Image, Sentence
from tests.support.linking import document


def cells(found: Any) -> Any:
    return {(int(i), int(j)): round(float(found[i, j]), 3) for i, j in zip(*(found > 0).nonzero(), strict=True)}


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Figure 2 shows the stairs.", [ELSEWHERE, EXPLICIT]),
        ("Na obrázku 2 je schodiště.", [ELSEWHERE, EXPLICIT]),
        ("Figure 3 is in another file.", [0, 0]),
        ("Like Figure 2, the picture below is old.", [0, EXPLICIT]),
    ],
)
def test_a_sentence_that_cites_another_image_is_evidence_against_this_one(text: str, expected: Any) -> None:
    images = [Image("a.jpg", position=1), Image("b.jpg", caption="Figure 2: The stairs.", position=2)]
    assert reference_evidence(document([text, "x"], images))[0].tolist() == expected


def test_a_repeated_number_means_the_nearest_and_nothing_without_layout() -> None:
    images = [Image("a.jpg", caption="Figure 1: A.", position=1), Image("b.jpg", caption="Figure 1: B.", position=5)]
    texts = ["See Figure 1.", "x", "y", "z", "See Figure 1."]
    assert set(cells(reference_evidence(document(texts, images)))) == {(0, 0), (4, 1)}
    assert not reference_evidence(document(texts, images, blocks=[None] * 5)).any()


def test_parts_of_a_figure_are_meant_together_unless_a_part_repeats() -> None:
    captions = ["Figure 1a. A", "Figure 1b. B"]
    images = [Image(f"{n}.jpg", caption=text, position=n) for n, text in enumerate([*captions, "Figure 1a. C"])]
    texts = ["See Figure 1.", "x", "y"]
    assert set(cells(reference_evidence(document(texts, images[:2])))) == {(0, 0), (0, 1)}
    assert set(cells(reference_evidence(document(texts, images)))) == {(0, 0)}
    whole = Image("w.jpg", caption="Figure 2. W", position=3)
    assert set(cells(reference_evidence(document(["See Figure 2c.", *texts[1:]], [*images, whole])))) == {(0, 3)}


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
        ("The following two excerpts show it.", {(2, 1): DIRECTED, (2, 2): DIRECTED}),
        ("The photos below show it.", {(2, 1): DIRECTED, (2, 2): DIRECTED}),
        ("Las imágenes de abajo lo muestran.", {(2, 1): DIRECTED, (2, 2): DIRECTED}),
        ("Como mostra a figura abaixo.", {(2, 1): DIRECTED}),
        ("Na imagem acima vê-se isso.", {(2, 0): DIRECTED}),
        ("Come si vede nella foto qui sotto.", {(2, 1): DIRECTED}),
        ("Zie de onderstaande afbeelding.", {(2, 1): DIRECTED}),
        ("Это видно на фото выше.", {(2, 0): DIRECTED}),
        ("На следующем рисунке видно больше.", {(2, 1): DIRECTED}),
        ("Widać to na poniższym rysunku.", {(2, 1): DIRECTED}),
        ("Podívejte se na obrázek níže.", {(2, 1): DIRECTED}),
        ("Na předchozím obrázku je věž.", {(2, 0): DIRECTED}),
        ("Na tomto snímku je věž.", {(2, 0): VAGUE}),
        ("Φαίνεται στην παρακάτω εικόνα.", {(2, 1): DIRECTED}),
        ("Η εικόνα παραπάνω το δείχνει.", {(2, 0): DIRECTED}),
        ("नीचे दिए गए चित्र में मीनार है।", {(2, 1): DIRECTED}),
        ("ऊपर के चित्र में मीनार है।", {(2, 0): DIRECTED}),
        ("Aşağıdaki resimde görülüyor.", {(2, 1): DIRECTED}),
        ("في الصورة أعلاه يظهر ذلك.", {(2, 0): DIRECTED}),
        ("الصورة التالية تبين ذلك.", {(2, 1): DIRECTED}),
        ("上の図に示す。", {(2, 0): DIRECTED}),
        ("次の写真を見てください。", {(2, 1): DIRECTED}),
        ("如下图所示。", {(2, 1): DIRECTED}),
        ("从上面的照片可以看出。", {(2, 0): DIRECTED}),
        ("아래 그림을 보세요.", {(2, 1): DIRECTED}),
        ("Như hình dưới đây.", {(2, 1): DIRECTED}),
        ("Auf dem Bild links ist sie zu sehen.", {(2, 0): VAGUE}),
        ("左の写真は古い。", {(2, 0): VAGUE}),
        ("网上图片很多。", {}),
        ("Hình ảnh trước khi xử lý.", {}),
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


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("As Figure 3 shows, it rose.", ["figure 3"]),
        ("It rose (see Fig. 3a).", ["figure 3a"]),
        ("fig 3(b) differs", ["figure 3b"]),
        ("Figures 2 and 3 agree.", ["figure 2", "figure 3"]),
        ("Figs. 2-4 agree.", ["figure 2", "figure 3", "figure 4"]),
        ("Figures 1, 2, and 4", ["figure 1", "figure 2", "figure 4"]),
        ("Figures 3a and 3b", ["figure 3a", "figure 3b"]),
        ("Fig. 3a–c", ["figure 3a", "figure 3b", "figure 3c"]),
        ("Figure 3.2 and Figure 3-4", ["figure 3.2", "figure 3.4"]),
        ("Figure 3 and 4 people", ["figure 3"]),
        ("siehe Abb. 2", ["figure 2"]),
        ("Abbildung 12 zeigt das.", ["figure 12"]),
        ("la figure 2 montre", ["figure 2"]),
        ("en la Figura 4", ["figure 4"]),
        ("zie afbeelding 3", ["figure 3"]),
        ("На рисунке 3 видно", ["figure 3"]),
        ("см. Рис. 3", ["figure 3"]),
        ("如图3所示", ["figure 3"]),
        ("図 3を見る", ["figure 3"]),
        ("như trong Hình 3", ["figure 3"]),
        ("Resim 2 ve Tablo 3", ["image 2", "table 3"]),
        ("표 3에서 보듯이", ["table 3"]),
        ("목표 3", []),
        ("詳しくは図６を参照", ["figure 6"]),
        ("図1から図3まで", ["figure 1", "figure 2", "figure 3"]),
        ("como mostra a figura 1", ["figure 1"]),
        ("図２－１から", ["figure 2.1"]),
        ("Nas Figuras 3 e 5 vemos", ["figure 3", "figure 5"]),
        ("en las Figuras 3 a 5", ["figure 3", "figure 4", "figure 5"]),
        ("Figur 3 viser", ["figure 3"]),
        ("كما في الشكل ١.", ["figure 1"]),
        ("يوضح الشكلان ٢ و٣ ذلك", ["figure 2", "figure 3"]),
        ("انظر الشكل رقم 4", ["figure 4"]),
        ("در شکل ۲", ["figure 2"]),
        ("चित्र 3 में", ["figure 3"]),
        ("στο Σχήμα 3", ["figure 3"]),
        ("ดังรูปที่ 3 และตารางที่ ๒", ["figure 3", "table 2"]),
        ("如图三所示，塔很高。", ["figure 3"]),
        ("由圖十二、图二十一和表四可知", ["figure 12", "figure 21", "table 4"]),
        ("图三至五显示", ["figure 3", "figure 4", "figure 5"]),
        ("図三を参照", ["figure 3"]),
        ("地图三张，图一样，图三个，表一下，代表三人，图十分清楚，図一つ", []),
        ("nelle Figure 3 e 4", ["figure 3", "figure 4"]),
        ("le figure 3, 4 e 5", ["figure 3", "figure 4", "figure 5"]),
        ("le figure 3–5; for example Figure 2-3", ["figure 3", "figure 4", "figure 5", "figure 2.3"]),
        ("figura 3 e figura 4", ["figure 3", "figure 4"]),
        ("voir fig. 3 et 4", ["figure 3", "figure 4"]),
        ("las figuras 3 o 4", ["figure 3", "figure 4"]),
        ("figurile 3 și 4", ["figure 3", "figure 4"]),
        ("as fotografias 3 e 4", ["photo 3", "photo 4"]),
        ("na obr. 2 a 5 a obrázcích 7 a 8", ["figure 2", "figure 5", "figure 7", "figure 8"]),
        ("na rycinie 3 i w tabeli 2", ["figure 3", "table 2"]),
        ("na rysunkach 3 i 4", ["figure 3", "figure 4"]),
        ("Şekil 3 ve 4'te, çizelge 2", ["figure 3", "figure 4", "table 2"]),
        ("चित्र ३ और ४, तालिका 2", ["figure 3", "figure 4", "table 2"]),
        ("βλ. εικ. 3 και 4, πίνακα 2", ["figure 3", "figure 4", "table 2"]),
        ("az 1. és 2. ábrán", ["figure 1", "figure 2"]),
        ("i figur 3 og 4", ["figure 3", "figure 4"]),
        ("그림 3과 4", ["figure 3", "figure 4"]),
        ("na zdjęciu 4", ["photo 4"]),
        ("Photo 2 and Plate IV", ["photo 2", "plate iv"]),
        ("Table 3 lists", ["table 3"]),
        ("Supplementary Figure 3", ["supplementary figure 3"]),
        ("Fig. S1 and Figure A.1", ["figure s1", "figure a.1"]),
        ("in Figure 10 of this chapter", ["figure 10"]),
        ("Figure 3 of [12] shows", []),
        ("Figure 3 in Smith et al. shows", []),
        ("Figure 3 in Smith (2010)", []),
        ("Smith et al., Figure 3", []),
        ("[12, Fig. 3]", []),
        ("Darwin’s Figure 3", []),
        ("their Figure 3", []),
        ("Figure 3 in Chapter 2", []),
        ("you go figure 3 of them", []),
        ("a figure 8 knot", []),
        ("reconfigure 3 hosts", []),
        ("We figure that 3 is enough.", []),
        ("Three figures stood there.", []),
    ],
)
def test_what_a_sentence_cites(text: Any, cited: Any) -> None:
    assert [f"{family} {number}{part}" for family, number, part in cited_labels(text)] == cited


@pytest.mark.parametrize(
    ("caption", "labels", "rest"),
    [
        ("Figure 3: The castle.", [("figure", "3", "")], "The castle."),
        ("**Fig. 3.2** The castle", [("figure", "3.2", "")], "The castle"),
        ("**Abb. 3.2a** – Ein Dach", [("figure", "3.2", "a")], "Ein Dach"),
        ("Abb. 7 – Das Schloss", [("figure", "7", "")], "Das Schloss"),
        ("Table 1. Prices", [("table", "1", "")], "Prices"),
        ("图3：城堡", [("figure", "3", "")], "城堡"),
        ("図３．城", [("figure", "3", "")], "城"),
        ("圖十二：城堡", [("figure", "12", "")], "城堡"),
        ("3. ábra: A vár", [("figure", "3", "")], "A vár"),
        ("شكل (٤): القلعة", [("figure", "4", "")], "القلعة"),
        ("Figures 2 and 3. Roofs", [("figure", "2", ""), ("figure", "3", "")], "Roofs"),
        ("Figure 3", [("figure", "3", "")], ""),
        ("The castle of Figure 3.", [], "The castle of Figure 3."),
    ],
)
def test_labels_of_a_caption_and_the_rest(caption: str, labels: Any, rest: str) -> None:
    assert list(own_labels(caption)) == labels
    assert unlabelled(caption) == rest


def test_caption_paragraphs_are_recognised() -> None:
    assert is_caption("Figure 3: The castle.")
    assert not is_caption("Figure 3 shows the castle.")


@pytest.mark.parametrize(
    "text", ["", "figure", "Figures 99999999999-99999999999999", "Fig. " * 2000, "Figures " + "1, " * 5000]
)
def test_odd_texts_end(text: Any) -> None:
    assert len(list(cited_labels(text))) <= 5000
