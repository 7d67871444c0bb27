from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from docx.oxml import parse_xml
from docx.shared import Inches

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.types import Document
from tests.support.docx import SPACES, Making, blip, run
from tests.support.pdf import jpeg, png
from tests.support.reading import packed_with, read_as, texts


def reading(tmp_path, making: Making | bytes, **choices) -> Document:
    return read_as(tmp_path / "a.docx", making if isinstance(making, bytes) else making.bytes(), **choices)


def test_kinds_in_reading_order(tmp_path):
    making = Making()
    file = making.file
    file.add_heading("A heading", 1)
    file.add_paragraph("Running text. Of two sentences.")
    file.add_paragraph("an item", style="List Bullet")
    file.add_paragraph("A quotation.", style="Quote")
    table = file.add_table(2, 2)
    table.cell(0, 0).text = "one"
    table.cell(0, 1).text = "two"
    table.cell(1, 0).merge(table.cell(1, 1)).text = "three"
    table.cell(0, 1).add_table(1, 2).cell(0, 1).text = "within"
    merged = file.add_table(2, 2)
    merged.cell(0, 0).merge(merged.cell(1, 0)).text = "tall"
    merged.cell(0, 1).text, merged.cell(1, 1).text = "up", "down"
    file.add_paragraph("The end.")
    document = reading(tmp_path, making)
    assert [s.level for s in document.sentences] == [1, *[None] * 12]
    assert [(s.kind, s.text) for s in document.sentences] == [
        ("heading", "A heading"),
        ("paragraph", "Running text."),
        ("paragraph", "Of two sentences."),
        ("item", "an item"),
        ("quote", "A quotation."),
        ("cell", "one"),
        ("cell", "two"),
        ("cell", "within"),
        ("cell", "three"),
        *(("cell", text) for text in ("tall", "up", "down")),
        ("paragraph", "The end."),
    ]


def test_pictures_with_alt_text_and_caption(tmp_path):
    making, picture = Making(), jpeg()
    making.file.add_paragraph("Before the picture.")
    making.file.add_picture(io.BytesIO(picture), width=Inches(2))
    shape = making.file.inline_shapes[0]
    shape._inline.docPr.set("descr", "Colours. Description automatically generated")
    making.file.add_paragraph("Figure 1 shows colours", style="Caption")
    making.file.add_paragraph("After the picture.")
    document = reading(tmp_path, making)
    (image,) = document.images
    assert (image.alt, image.caption, image.position) == ("Colours.", "Figure 1 shows colours", 1)
    assert image.file == picture
    assert image.source == "word/media/image1.jpg"
    assert texts(document) == ["Before the picture.", "After the picture."]


def test_a_title_stands_in_for_a_caption(tmp_path):
    making = Making()
    for caption in (None, "Figure 2 shows it"):
        making.file.add_picture(io.BytesIO(jpeg()), width=Inches(2))
        making.file.inline_shapes[-1]._inline.docPr.set("title", "Figure 1: A title.")
        if caption:
            making.file.add_paragraph(caption, style="Caption")
    assert [image.caption for image in reading(tmp_path, making).images] == ["Figure 1: A title.", "Figure 2 shows it"]


def field(instruction: str, result: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f'<w:r><w:instrText xml:space="preserve"> {instruction[:3]}</w:instrText></w:r>'
        f'<w:r><w:instrText xml:space="preserve">{instruction[3:]} </w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(result)}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def test_cross_references_lead_to_the_picture_of_the_caption(tmp_path):
    making = Making()
    relation = making.embed(jpeg())
    making.add(
        run("As ") + field("REF _Ref42 \\h", "Figure 3") + run(" shows. Not here."),
        f"<w:r>{blip(relation)}</w:r>",
        '<w:bookmarkStart w:id="1" w:name="_Ref42"/>'
        + run("Figure ")
        + field("SEQ Figure \\* ARABIC", "3")
        + '<w:bookmarkEnd w:id="1"/>'
        + run(" Colours"),
        f'<w:hyperlink w:anchor="_Ref42">{run("See it.")}</w:hyperlink><w:fldSimple w:instr=" PAGEREF _Ref42 ">'
        f"{run(' Page 1.')}</w:fldSimple>",
    )
    document = reading(tmp_path, making)
    (image,) = document.images
    assert image.caption == "Figure 3 Colours"
    assert image.anchors == ("_Ref42",)
    assert [(s.text, s.targets) for s in document.sentences] == [
        ("As Figure 3 shows.", ("_Ref42",)),
        ("Not here.", ()),
        ("See it.", ("_Ref42",)),
        ("Page 1.", ("_Ref42",)),
    ]


def test_marks_of_fields_that_are_not_paired(tmp_path):
    making = Making()
    marks = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("end", "begin", "separate")]
    simple = '<w:fldSimple w:instr=" REF a ">{}' + run("One.") + "</w:fldSimple>" + run(" Two.")
    making.add(*(simple.format(mark) for mark in ("", *marks)))
    assert texts(reading(tmp_path, making)) == ["One.", "Two."] * 2 + ["Two."] + ["One.", "Two."]


def test_a_caption_in_the_paragraph_of_its_picture_and_one_of_a_table(tmp_path):
    making = Making()
    first, second = making.embed(jpeg()), making.embed(jpeg(1))
    making.add(f"<w:r>{blip(first)}<w:br/></w:r>" + run("Figure 1: Colours."), run("More text."))
    making.add(f"<w:r>{blip(second)}</w:r>", run("Table ") + field("SEQ Table", "1"))
    document = reading(tmp_path, making)
    assert [image.caption for image in document.images] == ["Figure 1: Colours.", None]
    assert texts(document) == ["More text."]


def test_text_boxes_are_read_once_and_caption_floating_pictures(tmp_path):
    making = Making()
    relation = making.embed(jpeg())
    box = f"<w:txbxContent><w:p>{run('Figure 2: In a box.')}</w:p></w:txbxContent>"
    making.add(
        f'<w:r>{blip(relation)}</w:r><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>'
        f'<wp:anchor><wp:docPr id="2" name="b"/><a:graphic><a:graphicData uri="u"><wps:wsp><wps:txbx>{box}</wps:txbx>'
        "</wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape>"
        f"<v:textbox>{box}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
        + run("The text beside it.")
    )
    document = reading(tmp_path, making)
    assert texts(document) == ["The text beside it."]
    assert [(i.caption, i.position) for i in document.images] == [("Figure 2: In a box.", 0)]


def test_older_and_linked_and_missing_pictures(tmp_path):
    making = Making()
    relation = making.embed(png())
    remote = making.file.part.relate_to("http://example.org/a.png", "http://x/image", is_external=True)
    making.add(
        f'<w:r><w:pict><v:shape alt="in VML"><v:imagedata r:id="{relation}" o:title="t"/></v:shape></w:pict></w:r>',
        f"<w:r>{blip(remote, kind='link')}</w:r>",
        f"<w:r>{blip('rId999', 'lost')}</w:r>",
    )
    first, second, third = reading(tmp_path, making).images
    assert (first.alt, first.file) == ("in VML", png())
    assert second.source == "http://example.org/a.png"
    assert "web" in (second.problem or "")
    assert (third.alt, third.file) == ("lost", None)
    assert third.problem == "the file names it and does not hold it"


def test_metafiles_say_what_they_are(tmp_path):
    making = Making()
    making.add(f"<w:r>{blip(making.embed(png()))}</w:r>")
    data = packed_with(
        making.bytes(), r"word/_rels/document\.xml\.rels", lambda xml: xml.replace(b"image1.png", b"image1.emf")
    )
    assert "metafile" in (reading(tmp_path, data).images[0].problem or "")


def test_revisions_hidden_text_and_notes(tmp_path):
    making = Making()
    making.add(
        run("It is ")
        + '<w:del w:id="1"><w:r><w:delText>not </w:delText></w:r></w:del>'
        + f'<w:ins w:id="2">{run("quite ")}</w:ins><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden </w:t></w:r>'
        + run("so.")
        + '<w:r><w:footnoteReference w:id="2"/></w:r>',
        f'<w:pPr><w:pStyle w:val="TOC1"/></w:pPr>{run("Contents 1")}',
    )
    making.file.sections[0].header.paragraphs[0].text = "Running header"
    styles = making.file.styles.element
    styles.append(parse_xml(f'<w:style {SPACES} w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>'))
    assert texts(reading(tmp_path, making)) == ["It is quite so."]


def test_headings_by_outline_level_and_by_a_style_based_on_one(tmp_path):
    making = Making()
    styles = making.file.styles.element
    styles.append(
        parse_xml(
            f'<w:style {SPACES} w:type="paragraph" w:styleId="Eigene"><w:name w:val="Eigene"/>'
            '<w:basedOn w:val="Heading2"/></w:style>'
        )
    )
    making.add(
        f'<w:pPr><w:pStyle w:val="Eigene"/></w:pPr>{run("Erste Überschrift")}',
        f'<w:pPr><w:outlineLvl w:val="0"/></w:pPr>{run("Zweite")}',
    )
    assert [(s.kind, s.level) for s in reading(tmp_path, making).sentences] == [("heading", 2), ("heading", 1)]


def test_language(tmp_path):
    making = Making()
    making.add(run("שלום עולם. זה משפט שני."), run("مرحبا بالعالم."))

    def hebrew(xml: bytes) -> bytes:
        return re.sub(rb'(<w:lang [^>]*?w:val=)"[^"]*"', rb'\1"he-IL"', xml)

    document = reading(tmp_path, packed_with(making.bytes(), r"word/styles\.xml", hebrew))
    assert document.language == "he"
    assert texts(document) == ["שלום עולם.", "זה משפט שני.", "مرحبا بالعالم."]


def test_the_strict_variant(tmp_path):
    making = Making()
    making.add(run("Strict text."))
    old = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    strict = packed_with(making.bytes(), r"word/document\.xml", lambda xml: xml.replace(old, b"http://purl.oclc.org/x"))
    assert texts(reading(tmp_path, strict)) == ["Strict text."]


# Hostile files


@pytest.fixture(scope="module")
def plain() -> bytes:
    making = Making()
    making.add(run("Text of two sentences. This is the second."))
    making.add(f"<w:r>{blip(making.embed(jpeg()))}</w:r>")
    return making.bytes()


def test_old_or_encrypted_word_files(tmp_path):
    with pytest.raises(DocumentError, match="without a password"):
        reading(tmp_path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))


def test_addresses_cannot_leave_the_archive(tmp_path, plain):
    (tmp_path / "secret.png").write_bytes(png())
    data = packed_with(
        plain, r"word/_rels/document\.xml\.rels", lambda xml: xml.replace(b"media/image1.jpg", b"../../secret.png")
    )
    assert reading(tmp_path, data).images[0].file is None


def test_more_than_the_limit(tmp_path, plain):
    with pytest.raises(HostileDocumentError, match="option max-bytes"):
        reading(tmp_path, plain, max_bytes=len(plain) + 100)


def test_a_bomb_that_lies(tmp_path, plain):
    # The directory and the member's own header say 100 bytes; it unpacks to 30 MB.
    data = packed_with(plain, r"word/media/.*", lambda _: bytes(30_000_000))
    lying = data.replace((30_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    (image,) = reading(tmp_path, lying).images
    assert image.file is None
    assert "damaged" in (image.problem or "")


def test_an_endless_directory(tmp_path, plain):
    at = plain.rindex(b"PK\x05\x06")
    with pytest.raises(HostileDocumentError, match="20000 files"):
        reading(tmp_path, plain[: at + 12] + (2**31).to_bytes(4, "little") + plain[at + 16 :])


LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 12))


def with_entity(name: bytes, declared: bytes) -> Callable[[bytes], bytes]:
    def put(xml: bytes) -> bytes:
        head = b"<!DOCTYPE x [" + declared + b"]>"
        return xml.replace(b"<w:document", head + b"<w:document", 1).replace(b"Text of", b"&" + name + b"; of")

    return put


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (r"word/document\.xml", with_entity(b"l11", b'<!ENTITY l0 "ha">' + LAUGHS), "declares XML entities"),
        (r"word/document\.xml", with_entity(b"s", b'<!ENTITY s SYSTEM "file:///etc/passwd">'), "declares XML entities"),
        (r"word/media/.*", lambda _: bytes(30_000_000), "200 times"),
        (r"word/document\.xml", lambda _: None, "not a Word document"),
        (r"word/document\.xml", lambda xml: xml[: len(xml) // 2], "not well-formed XML"),
    ],
    ids=["laughs", "outside", "bomb", "no body", "cut off"],
)
def test_broken_and_hostile_parts(tmp_path, plain, part, change, message):
    with pytest.raises(DocumentError, match=message) as caught:
        reading(tmp_path, packed_with(plain, part, change))
    assert isinstance(caught.value, HostileDocumentError) == ("entities" in message or "times" in message)
