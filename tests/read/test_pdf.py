from __future__ import annotations

import io
import textwrap
from importlib import import_module

import numpy as np
import pypdfium2 as pdfium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from iconotext.errors import DocumentError, HostileDocumentError, IconotextError
from iconotext.images import decode, is_harmless
from iconotext.read import ReadSettings, read
from iconotext.read.pdf.document import read_document
from iconotext.types import Document
from tests.support.images import encoded
from tests.support.pdf import Sheet, file_of, image_object, jpeg, png, stream, write_pdf
from tests.support.reading import read_as, texts

FIRST = [
    "The first paragraph stands at the top of the page and is long enough to fill",
    "a line and more. It has a second sentence, which ends here.",
]
SECOND = ["Another paragraph follows below the picture, and it goes on for as long as", "it takes to have two lines."]


def reading(tmp_path, sheets, **choices) -> Document:
    return read_as(tmp_path / "a.pdf", sheets if isinstance(sheets, bytes) else write_pdf(sheets), **choices)


def test_paragraphs_headings_pictures_and_captions(tmp_path):
    sheet, picture = Sheet(), jpeg()
    sheet.text(72, 80, "A Large Heading", size=18)
    y = sheet.lines(72, 120, FIRST)
    sheet.picture(72, y + 10, 200, 150, picture)
    sheet.text(72, y + 174, "Figure 1: A picture of colours.", size=8)
    sheet.lines(72, y + 210, SECOND)
    document = reading(tmp_path, [sheet])
    assert document.title == "A Large Heading"
    assert texts(document) == [
        "A Large Heading",
        "The first paragraph stands at the top of the page and is long enough to fill a line and more.",
        "It has a second sentence, which ends here.",
        "Another paragraph follows below the picture, and it goes on for as long as it takes to have two lines.",
    ]
    (image,) = document.images
    assert (image.caption, image.position, image.page, image.problem) == ("Figure 1: A picture of colours.", 3, 1, None)
    assert image.file == picture  # the JPEG itself, not one encoded anew
    assert image.source == "page 1, picture 1"
    assert image.box == pytest.approx((72 / 612, (y + 10) / 792, 272 / 612, (y + 160) / 792), abs=1e-3)


def test_a_caption_above_its_picture(tmp_path):
    sheet = Sheet()
    sheet.text(72, 120, "Abb. 2: Farben.", size=8)
    sheet.picture(72, 128, 200, 150, jpeg())
    sheet.lines(72, 310, SECOND)
    document = reading(tmp_path, [sheet], language="en")
    assert document.images[0].caption == "Abb. 2: Farben."
    assert texts(document) == [" ".join(SECOND)]


LEFT = "Words of the left column|fill each of its lines as|they do in a journal set|in two columns, so that the"
RIGHT = "right column goes on with|the sentence of the left|one and then ends it here.|A last sentence is added."


def test_two_columns_are_read_one_after_the_other(tmp_path):
    sheet = Sheet()
    sheet.text(72, 70, "A heading that spans both of the columns of the page", size=16)
    left, right = LEFT.split("|") * 2, RIGHT.split("|") * 2
    sheet.lines(72, 100, left, size=12)
    sheet.lines(330, 100, right, size=12)
    assert " ".join([*left, *right]) in " ".join(texts(reading(tmp_path, [sheet])))


def test_a_table_is_read_row_by_row(tmp_path):
    sheet = Sheet()
    y = sheet.lines(72, 100, FIRST)
    for number in range(6):
        sheet.text(72, y + 20 + 14 * number, f"Name {number}")
        sheet.text(330, y + 20 + 14 * number, f"Value {number}")
    document = reading(tmp_path, [sheet])
    cells = [sentence.text for sentence in document.sentences if sentence.kind == "cell"]
    assert cells == [f"{word} {number}" for number in range(6) for word in ("Name", "Value")]


def test_list_items_lose_their_bullets(tmp_path):
    sheet = Sheet()
    y = sheet.lines(72, 100, FIRST)
    sheet.text(80, y + 10, "\u2022 flour and water, mixed")
    sheet.text(80, y + 22, "\u2022 salt")
    sentences = reading(tmp_path, [sheet]).sentences[2:]
    assert [(s.kind, s.text) for s in sentences] == [("item", "flour and water, mixed"), ("item", "salt")]


def test_running_headers_footers_and_page_numbers_are_left_out(tmp_path):
    sheets = []
    for number in range(4):
        sheet = Sheet()
        sheet.text(72, 40, f"A Journal of Things, volume {number}", size=8)
        sheet.lines(72, 100, [f"Page {'abcd'[number]} has a sentence of its own on it.", *FIRST])
        sheet.text(300, 760, str(number + 1), size=8)
        sheets.append(sheet)
    found = texts(reading(tmp_path, sheets))
    assert len(found) == 12
    assert not any("Journal" in text or text.isdigit() for text in found)


def test_a_paragraph_goes_on_over_pages_and_pictures(tmp_path):
    one, two = Sheet(), Sheet()
    foot = ["A sentence that begins at the foot of the first page and is then going", "to be cut off right"]
    one.lines(72, 660, foot)
    two.picture(72, 72, 200, 150, jpeg())
    two.lines(72, 260, ["here, where the second page takes it up again."])
    document = reading(tmp_path, [one, two])
    assert texts(document) == [" ".join([*foot, "here, where the second page takes it up again."])]
    assert document.images[0].position == 1


def test_hyphens_at_the_end_of_lines(tmp_path):
    sheet = Sheet()
    lines = [
        "This paragraph has been set with hyphens, as in this exam-",
        "ple, and in a state-of-the-art well-known phrase that is well-",
        "known, and it will take some more lines until the hyphen-",
        "ation of it all has been seen to work, in this exam-",
        "ple and in any other.",
    ]
    sheet.lines(72, 100, lines)
    text = " ".join(texts(reading(tmp_path, [sheet])))
    assert "this example, and" in text
    assert "is well-known, and" in text
    assert "the hyphenation of" in text


def test_links_lead_to_pictures(tmp_path):
    sheet = Sheet(extra="/Annots [900 0 R]")
    sheet.text(72, 100, "As the figure shows, there are colours.")
    sheet.picture(72, 300, 200, 150, jpeg())
    link = b"<< /Type /Annot /Subtype /Link /Rect [72 685 300 705] /Dest [%d 0 R /XYZ 72 495 0] >>" % 12
    document = reading(tmp_path, write_pdf([sheet], objects={900: link}))
    assert document.images[0].anchors == document.sentences[0].targets == ("page-1-picture-1",)


def pixels(file, size=(8, 8)) -> np.ndarray:
    return np.asarray(decode(file).resize(size), float)


@pytest.mark.parametrize(
    ("matrix", "turn"),
    [
        ("-200 0 0 -150 272 642", Pillow.Transpose.ROTATE_180),
        ("0 200 -150 0 222 492", Pillow.Transpose.ROTATE_90),
        ("-200 0 0 150 272 492", Pillow.Transpose.FLIP_LEFT_RIGHT),
    ],
)
def test_turned_pictures_are_had_as_they_are_seen(tmp_path, matrix, turn):
    sheet, picture = Sheet(), jpeg(3)
    sheet.picture(0, 0, 0, 0, picture, matrix=matrix)
    (image,) = reading(tmp_path, [sheet]).images
    expected = Pillow.open(io.BytesIO(picture)).transpose(turn).resize((8, 8))
    assert np.abs(pixels(image.file) - np.asarray(expected, float)).mean() < 12


def test_pictures_of_several_kinds(tmp_path):
    """JPEGs stay as they are but for the camera's rotation, which the page has made; CMYK keeps its colours."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    sheet, ink = Sheet(), encoded(Pillow.new("CMYK", (100, 100), (0, 255, 255, 0)), "JPEG")
    for number, data in enumerate((jpeg(3, exif=exif.tobytes()), png(2), ink)):
        sheet.picture(72, 72 + 200 * number, 200, 150, data)
    turned, plain, red = (image.file for image in reading(tmp_path, [sheet]).images)
    assert decode(turned).size == (160, 120)
    assert isinstance(plain, bytes)
    assert plain.startswith(b"\x89PNG")
    assert np.abs(pixels(plain) - pixels(png(2))).mean() < 6
    colour = pixels(red)[4, 4]
    assert colour[0] > 180 > colour[1] + 60
    assert colour[2] < 120


def test_a_picture_in_a_form_is_found_at_its_place(tmp_path):
    inner = stream(
        "/Type /XObject /Subtype /Form /BBox [0 0 200 200] /Resources << /XObject << /Im 901 0 R >> >>",
        b"q 100 0 0 75 50 50 cm /Im Do Q",
    )
    sheet = Sheet(content=["q 2 0 0 2 72 400 cm /Fm Do Q"], xobjects={"Fm": 900})
    document = reading(tmp_path, write_pdf([sheet], objects={900: inner, 901: image_object(jpeg())}))
    (image,) = document.images
    # 100 × 75 points at (50, 50), doubled, moved by (72, 400)
    assert image.box == pytest.approx((172 / 612, 142 / 792, 372 / 612, 292 / 792), abs=2e-3)
    assert image.problem is None


def form_that_draws(what: bytes) -> bytes:
    head = "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /Fm 900 0 R >> >>"
    sheet = Sheet(content=["/Fm Do"], xobjects={"Fm": 900})
    sheet.text(72, 100, "There is text on this page.")
    return write_pdf([sheet], objects={900: stream(head, what)})


@pytest.mark.slow
def test_a_form_that_draws_itself_twice_cannot_fill_the_memory(tmp_path, monkeypatch):
    assert texts(reading(tmp_path, form_that_draws(b"/Fm Do"))) == ["There is text on this page."]
    monkeypatch.setattr(import_module("iconotext.read"), "MAX_SECONDS", 1.5)
    with pytest.raises(HostileDocumentError, match="900 MiB"):
        reading(tmp_path, form_that_draws(b"/Fm Do /Fm Do"))
    monkeypatch.undo()
    assert texts(reading(tmp_path, form_that_draws(b""))) == ["There is text on this page."]  # the next one is read


def test_a_logo_on_every_page_is_no_picture_to_link(tmp_path):
    sheets, logo = [], jpeg(5)
    for _ in range(3):
        sheet = Sheet()
        sheet.picture(500, 20, 60, 45, logo)
        sheet.lines(72, 200, FIRST)
        sheets.append(sheet)
    images = reading(tmp_path, sheets).images
    assert [image.problem for image in images] == ["the same small picture on 3 pages: a logo or an ornament"] * 3
    assert all(is_harmless(image.problem or "") for image in images)


def test_strips_of_one_picture_are_put_together(tmp_path):
    sheet = Sheet()
    whole = Pillow.open(io.BytesIO(jpeg(4, (400, 300))))
    for number in range(6):
        strip = whole.crop((0, 50 * number, 400, 50 * number + 50))
        sheet.picture(72, 100 + 25 * number, 200, 25, encoded(strip, "JPEG", quality=95))
    (image,) = reading(tmp_path, [sheet]).images
    assert decode(image.file).size == pytest.approx((400, 300), abs=3)
    assert np.abs(pixels(image.file) - np.asarray(whole.resize((8, 8)), float)).mean() < 10


def test_a_page_of_a_thousand_specks_has_no_picture(tmp_path):
    sheet, speck = Sheet(), jpeg(1, (8, 8))
    for number in range(1000):
        sheet.picture(72 + 12 * (number % 30), 100 + 12 * (number // 30), 9, 9, speck)
    assert len(reading(tmp_path, [sheet]).images) == 0


def test_a_scan_has_pictures_and_no_sentences(tmp_path):
    document = reading(tmp_path, encoded(Pillow.open(io.BytesIO(jpeg(1, (600, 800)))), "PDF"))
    assert document.sentences == ()
    assert [image.problem for image in document.images] == [None]


def test_a_turned_page_is_read_as_it_is_shown(tmp_path):
    # Rotate 90 shows the page's left edge at the top; this text runs upwards on the unturned page.
    sheet = Sheet(extra="/Rotate 90")
    sheet.content.append("BT /F1 10 Tf 0 1 -1 0 100 72 Tm (A line of text on a turned page.) Tj ET")
    sheet.picture(0, 0, 0, 0, jpeg(3), matrix="0 200 -150 0 350 300")
    document = reading(tmp_path, [sheet])
    assert texts(document) == ["A line of text on a turned page."]
    (image,) = document.images
    # 150 × 200 points at (200, 300) of the unturned page: 200 × 150 at (300, 200) as shown
    assert image.box == pytest.approx((300 / 792, 200 / 612, 500 / 792, 350 / 612), abs=2e-3)
    assert np.abs(pixels(image.file) - pixels(jpeg(3))).mean() < 12


def test_code_is_left_out_and_numbers_do_not_end_a_paragraph(tmp_path):
    sheet = Sheet()
    lines = [
        "The speed was found to have been somewhere in the range from 3 to",
        "4 kilometres an hour over all of it.",
    ]
    y = sheet.lines(72, 100, lines)
    sheet.lines(72, y + 20, ["x = 1", "print(x)"], font="F4")
    assert texts(reading(tmp_path, [sheet])) == [" ".join(lines)]


def test_a_password_and_no_pages(tmp_path):
    encrypt = b"<< /Filter /Standard /V 1 /R 2 /P -44 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >>"
    data = write_pdf([Sheet()], objects={900: encrypt})
    with pytest.raises(DocumentError, match="password"):
        reading(tmp_path, data.replace(b"/Root 1 0 R >>", b"/Root 1 0 R /Encrypt 900 0 R /ID [<00><00>] >>"))
    empty = {1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Type /Pages /Count 0 /Kids [] >>"}
    with pytest.raises(DocumentError, match="without pages"):
        reading(tmp_path, file_of(empty))


def test_a_page_count_that_lies(tmp_path):
    lies = write_pdf([Sheet()]).replace(b"/Count 1 ", b"/Count 900000000 ")
    try:
        assert len(reading(tmp_path, lies).sentences) == 0
    except DocumentError as error:
        assert "pages" in str(error)


def test_too_many_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("iconotext.read.pdf.document"), "MAX_PAGES", 2)
    with pytest.raises(HostileDocumentError, match="3 pages are more than the limit of 2"):
        files(tmp_path, [Sheet(), Sheet(), Sheet()])


def test_a_picture_with_too_many_pixels_is_not_unpacked(tmp_path):
    sheet = Sheet()
    sheet.picture(72, 72, 200, 150, jpeg())
    (image,) = reading(tmp_path, [sheet], max_pixels=10_000).images
    assert "pixels" in (image.problem or "")


@pytest.fixture
def rendered(monkeypatch) -> list[int]:
    """The pixels of each image object that pdfium is asked to draw."""
    drawn: list[int] = []
    get_bitmap = pdfium.PdfImage.get_bitmap

    def recording(image, *given, **options):
        bitmap = get_bitmap(image, *given, **options)
        drawn.append(bitmap.width * bitmap.height)
        return bitmap

    monkeypatch.setattr(pdfium.PdfImage, "get_bitmap", recording)
    return drawn


def files(tmp_path, sheets, **objects) -> list[tuple[object, str | None]]:
    path = tmp_path / "a.pdf"
    path.write_bytes(write_pdf(sheets, **objects))
    (flow,) = read_document(path, ReadSettings())
    return [(image.file, image.problem) for block in flow.blocks for _, image in block.images]


def test_a_picture_that_is_drawn_many_times_is_decoded_once(tmp_path, rendered):
    sheets, picture = [Sheet(), Sheet()], png(2, (400, 300))
    for number in range(60):
        across, down = number % 8 * 70, number // 8 * 70
        for sheet in sheets:
            sheet.picture(across + 10, down + 20, 20 + number / 2, 15 + number * 0.375, picture)
    images = files(tmp_path, sheets)
    assert len(images) == 120
    assert len({id(file) for file, _ in images}) == 1
    assert [pixels for pixels in rendered if pixels > 128 * 128] == [pytest.approx(120_000, rel=0.02)]
    assert len(rendered) <= 12  # and a few small ones, to see that nothing else covers it


SQUARE = "/Type /XObject /Subtype /Image /Width 80 /Height 80 /BitsPerComponent 8 /ColorSpace"


def masked(number: int) -> bytes:
    return stream(f"{SQUARE} /DeviceRGB /SMask {number} 0 R", bytes(80 * 80 * 3))


def mask(seed: int) -> bytes:
    values = np.random.default_rng(seed).integers(0, 256, (80, 80), dtype=np.uint8).tobytes()
    return stream(f"{SQUARE} /DeviceGray", values)


def test_the_same_black_behind_other_masks_is_another_picture(tmp_path, monkeypatch):
    sheet = Sheet(xobjects={f"I{n}": 900 + n for n in range(15)})
    for number in range(15):
        left, top = number % 5 * 110 + 20, number // 5 * 110 + 120
        sheet.content.append(f"q 90 0 0 90 {left} {792 - top} cm /I{number} Do Q")
    objects = {900 + n: masked(920 + n) for n in range(15)} | {920 + n: mask(n) for n in range(15)}
    assert len({file for file, _ in files(tmp_path, [sheet], objects=objects)}) == 15
    monkeypatch.setattr(import_module("iconotext.read.pdf.images"), "MAX_COMPARED_PIXELS", 5 * 80 * 80)
    problem = "not decoded: the document draws large pictures too often: split it"
    assert [reason for _, reason in files(tmp_path, [sheet], objects=objects)] == [None] * 6 + [problem] * 9


def test_of_a_huge_picture_no_more_pixels_are_drawn_than_anybody_needs(tmp_path, rendered, monkeypatch):
    monkeypatch.setattr(import_module("iconotext.read.pdf.images"), "MAX_DRAWN", 30_000)
    sheet = Sheet()
    sheet.picture(72, 72, 10, 500, png(1, (600, 600)))  # as wide as in the file it would be 30,000 pixels high
    ((file, problem),) = files(tmp_path, [sheet])
    assert problem is None
    assert isinstance(file, bytes)
    assert max(rendered) <= 31_000


def test_a_broken_picture_stops_nothing(tmp_path):
    sheet = Sheet()
    sheet.lines(72, 100, FIRST)
    picture = jpeg()
    sheet.picture(72, 200, 200, 150, picture)
    data = write_pdf([sheet])
    document = reading(tmp_path, data.replace(picture[20:], b"\x00" * len(picture[20:])))
    assert len(document.sentences) == 2


@pytest.fixture(scope="module")
def whole():
    sheet = Sheet()
    sheet.text(72, 80, "A Large Heading", size=18)
    sheet.lines(72, 120, FIRST)
    sheet.picture(72, 200, 200, 150, jpeg())
    return write_pdf([sheet, sheet])


@settings(max_examples=60, deadline=None)
@given(noise=st.binary(max_size=300), at=st.integers(0, 3000))
def test_noise(tmp_path_factory, whole, noise, at):
    path = tmp_path_factory.mktemp("noise") / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n" + noise if at > len(whole) else whole[:at] + noise + whole[at + len(noise) :])
    try:
        read(path)
    except IconotextError as error:
        assert "\n" not in str(error)


PROSE = (
    "The tower stands on a hill above the town and can be seen from far away, as the drawing in Figure 2 shows, which"
    " an engineer of the railway made on a summer day long before the bridge was built, when boats still carried all"
    " the wood across the river and the road to the north ended at the mill. Its walls are of brick that was burnt"
    " nearby, and its roof is of slate from a quarry in the mountains. Nobody knows who paid for it, although letters"
    " in the archive of the town name a merchant whose ships had come back from the south with more silver than"
    " anybody had expected."
).split()


def set_lines(width: int, words: list[str] = PROSE) -> list[str]:
    return textwrap.wrap(" ".join(words), width)


def put(sheet: Sheet, x: float, y: float, lines: list[str], leading: float, *, right: float | None = None) -> float:
    """Set lines of 12 points; with ``right`` all but the last are stretched to end there, as justified text is."""
    for number, line in enumerate(lines, 1):
        spare = 0.0
        if right is not None and number < len(lines):
            spare = (right - x - helvetica(line)) / line.count(" ")
        sheet.content.append(f"{spare:.3f} Tw")
        sheet.text(x, y, line, size=12)
        y += leading
    sheet.content.append("0 Tw")
    return y


def helvetica(line: str) -> float:
    """The width of a line in Helvetica of 12 points."""
    page = write_pdf([Sheet(content=[f"BT /F1 12 Tf 1 0 0 1 0 700 Tm ({line}) Tj ET"])])
    with pdfium.PdfDocument(page) as document:
        text = document[0].get_textpage()
        return max(text.get_charbox(n, loose=True)[2] for n in range(text.count_chars()))


@pytest.mark.parametrize("leading", [12.5, 14.4, 20.7, 24.0, 27.6, 33.0])
@pytest.mark.parametrize("justified", [False, True])
def test_paragraphs_whatever_the_distance_of_lines(tmp_path, leading, justified):
    """Single, one and a half, double (Word's has 2.3 times the size of its letters), and more."""
    sheet, right = Sheet(), 480 if justified else None
    y = put(sheet, 72, 90, set_lines(70), leading, right=right)
    first, *rest = set_lines(66, PROSE[:40])
    put(sheet, 96, y, [first], leading)  # indented
    put(sheet, 72, y + leading, rest, leading, right=right)
    document = reading(tmp_path, [sheet])
    assert " ".join(texts(document)) == " ".join(PROSE + PROSE[:40])
    assert len({sentence.block for sentence in document.sentences}) == 2


def test_the_distance_of_lines_is_that_of_the_page(tmp_path):
    """A title page and a list set close do not decide for the double-spaced text behind them."""
    close, wide = Sheet(), Sheet()
    for number in range(4):
        put(close, 72, 80 + 150 * number, set_lines(70), 14)
    put(wide, 72, 90, set_lines(70), 27.6)
    document = reading(tmp_path, [close, wide])
    assert len({sentence.block for sentence in document.sentences}) == 5


def test_short_paragraphs_far_apart_stay_apart(tmp_path):
    sheet = Sheet()
    lines = [f"Entry {word} has a line of its own here." for word in "one two three four five six seven".split()]
    put(sheet, 72, 90, lines, 28)
    assert texts(reading(tmp_path, [sheet])) == lines


def test_two_columns_double_spaced(tmp_path):
    sheet = Sheet()
    lines = set_lines(36)
    put(sheet, 60, 90, lines[: len(lines) // 2], 27.6)
    put(sheet, 330, 90, lines[len(lines) // 2 :], 27.6)
    document = reading(tmp_path, [sheet])
    assert " ".join(texts(document)) == " ".join(PROSE)
    assert len({sentence.block for sentence in document.sentences}) == 1


def ligatures(strings: list[str], encoding: str = "", table: str = "") -> bytes:
    """A page with lines in a font whose ligatures have the codes of the strings, and the text that its entries give."""
    sheet = Sheet()
    for number, line in enumerate(strings):
        codes = line.encode("latin-1").hex()
        sheet.content.append(f"BT /F9 12 Tf 1 0 0 1 72 {700 - 14 * number} Tm <{codes}> Tj ET")
    widths = " ".join(["500"] * 256)
    font = f"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /FirstChar 0 /LastChar 255 /Widths [{widths}] {encoding} >>"
    return write_pdf([sheet], objects={900: font.encode(), 901: stream("", table.encode())}, fonts="/F9 900 0 R")


WITH_LIGATURES = ["A di{ff}erent o{ffi}ce has a {fi}eld of its own and the {fl}ame of", "the ba{ffl}ed man."]
READ_LIGATURES = "A different office has a field of its own and the flame of the baffled man."


def coded(codes: str) -> list[str]:
    names = dict(zip(("ff", "fi", "fl", "ffi", "ffl"), codes, strict=True))
    return [line.format(**names) for line in WITH_LIGATURES]


@pytest.mark.parametrize(
    ("codes", "encoding"),
    [
        ("\x0b\x0c\x0d\x0e\x0f", ""),
        ("\x1b\x1c\x1d\x1e\x1f", ""),
        ("\x80\x81\x82\x83\x84", "/Encoding << /Differences [128 /ff /fi /fl /ffi /ffl] >>"),
        ("\x80\x81\x82\x83\x84", "/Encoding << /Differences [128 /uniFB00 /uniFB01 /uniFB02 /uniFB03 /uniFB04] >>"),
    ],
)
def test_ligatures_are_letters(tmp_path, caplog, codes, encoding):
    assert texts(reading(tmp_path, ligatures(coded(codes), encoding))) == [READ_LIGATURES]
    assert caplog.text == ""


@pytest.mark.parametrize("single", [True, False])
def test_ligatures_with_a_table_of_text(tmp_path, single):
    """``ToUnicode`` gives the ligature itself, or its letters; older fonts have private codes for two of them."""
    given = "FB00 F001 F002 FB03 FB04" if single else "00660066 00660069 0066006C 006600660069 00660066006C"
    lines = "\n".join(f"<{code:02X}> <{text}>" for code, text in enumerate(given.split(), 0x80))
    table = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /A def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <FF> endcodespacerange\n5 beginbfchar\n{lines}\nendbfchar\n"
        "1 beginbfrange <20> <7E> <0020> endbfrange endcmap end end"
    )
    data = ligatures(coded("\x80\x81\x82\x83\x84"), "/ToUnicode 901 0 R", table)
    assert texts(reading(tmp_path, data)) == [READ_LIGATURES]


def test_characters_without_text_are_counted(tmp_path, caplog):
    strange = ["A di\x03erent o\x04ce has \x05 a eld of words, and so it", "goes on as be\x90ore."]
    assert texts(reading(tmp_path, ligatures(strange))) == [
        "A di\ufffderent o\ufffdce has a eld of words, and so it goes on as be\ufffdore."
    ]
    assert "a.pdf: 3 characters of its words have no text in the PDF, such as ligatures, first on page 1" in caplog.text
