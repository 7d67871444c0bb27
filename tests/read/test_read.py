from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iconotext import Document, IconotextError, read, read_all
from iconotext.errors import DocumentError, HostileDocumentError, UnknownFormatError
from iconotext.read import Failure, find_documents, formats_by_suffix, unique_names
from iconotext.read.sentences import document_language, language_code, split_sentences
from tests.support.reading import read_as, texts


def test_bad_files(tmp_path):
    with pytest.raises(DocumentError, match=r"gone\.md: no such file"):
        read(tmp_path / "gone.md")
    with pytest.raises(DocumentError, match=r"empty\.md: the file is empty"):
        read_as(tmp_path / "empty.md", b" \n")
    with pytest.raises(UnknownFormatError, match=r"a\.xyz: .*DOCX"):
        read_as(tmp_path / "a.xyz", b"whatever")
    with pytest.raises(DocumentError, match=r"binary\.md: not a text file"):
        read_as(tmp_path / "binary.md", b"\x00\xff\xfe\x81" * 50)
    with pytest.raises(HostileDocumentError, match="option max-bytes"):
        read_as(tmp_path / "large.md", "x" * 100, max_bytes=10)
    with pytest.raises(DocumentError, match="cannot be read"):
        read(tmp_path)


def test_format_by_first_bytes(tmp_path):
    assert texts(read_as(tmp_path / "page", "<!doctype html><p>Hello there.</p>")) == ["Hello there."]


def test_folders_are_walked_and_failures_do_not_stop(tmp_path, picture):
    for name in ("b/one.md", "a/one.md", ".hidden/no.md", "node_modules/no.md", "a/two.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("A sentence.")
    (tmp_path / "a" / "broken.md").write_bytes(b"")
    picture("img/x.png")
    (tmp_path / "b" / "one.md").write_text("A.\n\n![](../img/x.png)")  # may reach all of the folder that was given
    found = list(read_all([tmp_path, tmp_path / "a" / "one.md", tmp_path / "gone.md"]))
    assert [d.id for d in found if isinstance(d, Document)] == ["a/one", "two", "b/one"]
    assert [f.path.name for f in found if isinstance(f, Failure)] == ["broken.md", "gone.md"]
    assert [i.problem for d in found if isinstance(d, Document) for i in d.images] == [None]


def test_names_are_unique():
    paths = [Path(p) for p in ("x/a/i.md", "x/b/i.md", "x/b/i.html", "x/j.md")]
    assert unique_names(paths) == ["a/i", "x/b/i.md", "x/b/i.html", "j"]
    assert list(find_documents([])) == []


def test_a_labelled_caption_is_that_of_all_pictures_above_it(tmp_path, picture):
    for name in "abcd":
        picture(f"{name}.png")
    pictures = "\n\n".join(f"![]({name}.png)" for name in "abc")
    text = f"![](d.png) is a map.\n\n{pictures}\n\nFigure 1: Three trams.\n\n![](d.png)\n\n*A map.*\n"
    (tmp_path / "a.md").write_text(text)
    captions = [image.caption for image in read(tmp_path / "a.md").images]
    assert captions == [None, *["Figure 1: Three trams."] * 3, "A map."]
    (tmp_path / "b.md").write_text(text.replace("Figure 1: Three trams.", "*Three trams.*"))
    assert [image.caption for image in read(tmp_path / "b.md").images] == [None, None, None, "Three trams.", "A map."]


def test_captions_can_be_sentences(tmp_path, picture):
    picture("a.png")
    figure = "<figure><img src='a.png' alt='A cat.'><figcaption>It sits. It sleeps.</figcaption></figure>"
    document = read_as(tmp_path / "a.html", f"<p>Before.</p>{figure}<p>After.</p>", captions=True)
    assert [(s.text, s.kind) for s in document.sentences] == [
        ("Before.", "paragraph"), ("It sits.", "caption"), ("It sleeps.", "caption"), ("A cat.", "caption"), ("After.", "paragraph"),
    ]  # fmt: skip
    assert document.images[0].position == 1


def test_a_document_without_text_or_pictures(tmp_path, picture, caplog):
    picture("a.png")
    document = read_as(tmp_path / "a.md", "![A tram](a.png)\n")
    assert (len(document.sentences), len(document.images)) == (0, 1)
    assert "a.md: no sentences in it, so that no picture can be linked" in caplog.text
    caplog.clear()
    assert read_as(tmp_path / "b.md", "Only text.").images == ()
    assert caplog.text == ""
    with pytest.raises(DocumentError, match="no text"):
        read_as(tmp_path / "c.html", "<!-- nothing -->")


GERMAN = (
    "Das Brett wird zuerst zugesägt und danach geschliffen, bis die Kanten glatt sind. Zum Schluss streichen wir es "
    "zweimal mit Öl ein und lassen es über Nacht trocknen."
)
ENGLISH = (
    "The board is cut to size first and then sanded until the edges are smooth. In the end we oil it twice and leave "
    "it to dry over night, which is enough."
)


@pytest.mark.parametrize(
    ("declared", "text", "language"),
    [
        (None, "The cat sat on the mat and it was happy with this.", "en"),
        (None, "Die Katze saß auf der Matte und war damit sehr zufrieden.", "de"),
        (None, "Le chat était assis sur le tapis et il en était content.", "fr"),
        (None, "Кошка сидела на коврике и была довольна.", "ru"),
        (None, "猫はマットの上に座っていました。", "ja"),
        (None, "Tram 5", "en"),
        (None, "", "en"),
        # Titles and names, which the identifier takes for Nigerian Pidgin, Nynorsk, Latin ...
        (None, "Solar panel wiring diagram fuse box", "en"),
        (None, "Home News Sport Weather Video Live", "en"),
        (None, "Nikon Photo Gallery Tour Menu Login Contact Blog Shop", "en"),
        (None, GERMAN, "de"),
        ("de", GERMAN, "de"),
        ("en", GERMAN, "de"),  # the template of a site is often declared to be English
        ("de", ENGLISH, "en"),
        ("fr", GERMAN, "fr"),  # between other languages the author knows better
        ("en", GERMAN[:60], "en"),  # too little to contradict
        ("de", ENGLISH[:60], "de"),
        (None, "Montage", "en"),
    ],
)
def test_the_language_is_detected_also_where_a_declaration_is_plainly_wrong(declared, text, language):
    assert document_language(declared, text) == language


def test_declared_languages():
    assert [language_code(code) for code in ("pt-BR", "EN", "de_AT", "", "english")] == ["pt", "en", "de", None, None]


@given(st.text(max_size=300), st.sampled_from(["en", "de", "ja", "ar", "zz"]))
def test_sentences_are_ordered_pieces_of_the_text(text, language):
    end = 0
    covered = []
    for start, stop in split_sentences(text, language):
        assert end <= start < stop <= len(text)
        assert text[start:stop] == text[start:stop].strip()
        covered.append(text[start:stop])
        end = stop
    assert "".join("".join(covered).split()) == "".join(text.split())  # nothing but white space is lost


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.sampled_from(sorted(formats_by_suffix())))
def test_any_bytes_give_a_document_or_one_of_our_errors(tmp_path, data, suffix):
    path = tmp_path / f"any{suffix}"
    path.write_bytes(data)
    try:
        document = read(path)
    except IconotextError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
    else:
        assert all(s.text.strip() for s in document.sentences)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<figure>", "</figure>", "<figcaption>", "</figcaption>", "<img src='x.png'>", "Word one. ", "<table><tr><td>",
             "<a href='#x'>", "</a>", "<i>", "</i>", "<br>", "<!--", "-->", "<li>", "{{", "}}", "{%", "![", "](", ")", "\n\n", "# ", "&#0;", "é"]
        ),
        max_size=40,
    ),
    st.sampled_from([".md", ".html"]),
)  # fmt: skip
def test_any_markup_gives_consistent_positions(tmp_path, pieces, suffix):
    path = tmp_path / f"any{suffix}"
    path.write_text("x" + "".join(pieces), encoding="utf-8")
    try:
        document = read(path)
    except IconotextError as error:
        assert str(path) in str(error)
        return
    blocks = [s.block or 0 for s in document.sentences]
    assert blocks == sorted(blocks)
    positions = [i.position or 0 for i in document.images]
    assert positions == sorted(positions)
    assert all(0 <= p <= len(document.sentences) for p in positions)
    assert document.has_layout


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["As we see in Fig. 268. the fly has wings.", "It flies."]),
        ("en", ["Fig. 268. The fly.", "It has six legs."]),
        ("ja", ["「CD を挿入...」を押します。", "待ちます。"]),
        ("ja", ["「またね…」 と彼は言った。"]),
        ("en", ["Plate IV. The wings.", "They are long."]),
        ("en", ["The wings are long. Fig. 268.", "The legs are short."]),
        ("en", ["See Figs. 3 and 4.", "Eq. 3 and Tab. 4 say why.", "No. 5 is alive."]),
        ("en", ["See pp. 12-14 there.", "Vol. 3 is lost.", "In ch. 4 and sec. 5.2 we go on."]),
        ("en", ["See Fig. 5.", "The fly is here."]),
        ("en", ["She closed the tab.", "3 days later she was well."]),
        ("en", ["He said no.", "Then he left."]),
        ("de", ["Siehe Abb. 12.", "Die Fliege zeigt Tab. 3 auf S. 7 und Nr. 5."]),
        ("de", ["Abb. 12. Die Fliege."]),
        ("fr", ["Voir fig. 12 et tab. 3.", "La mouche."]),
        ("es", ["Véase la Fig. 3 y la pág. 5 aquí.", "Otra."]),
        ("it", ["Vedi fig. 3 e pag. 5.", "Altro."]),
        ("nl", ["Zie Afb. 3 en blz. 5.", "Nog een."]),
        ("ru", ["См. рис. 3 и табл. 4.", "Дальше."]),
        ("pl", ["Na rys. 3 i tab. 4 jest mucha.", "Dalej."]),
        ("sv", ["Se fig. 3 och tab. 4.", "Nästa."]),
        ("ja", ["「まだ熱い。」と先生は言った。", "「はい。」", "ところが雨が降った。"]),
        ("ar", ["انظر ص. ١٢ من الكتاب.", "ثم اقرأ."]),
        ("zh", ["他说：『好。』", "她问“好吗？”的时候，他走了。", "“好！”她说。", "他读《塔？》很久；她也读。"]),
        ("zh", ["图3. 塔很高。", "它是红色的。"]),
        ("ja", ["『坊っちゃん。』を読んだ。", "次の文。"]),
        ("ko", ["“어디?”라고 그가 물었다.", "그는 갔다."]),
        ("el", ["Είναι πύργος\u037e", "Ναι· βλ. εικ. 3.", "«Πού;» ρώτησε.", "Βλ. Εικ. 4."]),
        (
            "pl",
            ["„Gdzie?” zapytał.", "Zob. rys. 3.", "— Tam! — powiedział.", "W XIX w. kościół, tj. wieża.", "Koniec."],
        ),
        ("tr", ["Bu 19. yüzyılda oldu.", "Bkz. Şek. 4.", "Kedi vb. hayvanlar."]),
        ("hi", ["डॉ. शर्मा आए।", "चित्र 3 देखें।"]),
        ("hu", ["A 3. ábrán egy torony áll.", "Vége."]),
        ("de", ["Im 19. Jahrhundert stand der 3. Turm.", "Es waren 19.", "Dann fiel er."]),
        ("fr", ["M. Dupont arrive.", "Il rit."]),
        ("pt", ["É uma f.d.p. dada por ele.", "Fim."]),
        ("vi", ["Đó là cái gì.", "print là một hàm."]),
        ("tr", ["Burada Şek. 3 ve Tab. 4 var.", "Son."]),
    ],
)
def test_numbers_of_figures_do_not_end_sentences(language, sentences):
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text, language)] == sentences


def test_a_label_alone_is_no_sentence(tmp_path):
    text = "The fly.\n\nFig. 268.\n\nIt has wings.\n\n- Table 3\n\n## Figure 4\n"
    assert texts(read_as(tmp_path / "a.md", text)) == ["The fly.", "It has wings.", "Figure 4"]
