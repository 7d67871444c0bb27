"""Alternative texts put into documents: they read back, and every other byte is as it was."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.alt_text.writing import escaped, find_gaps, insert_alts
from iconotext.errors import DocumentError
from iconotext.read import ReadSettings, read
from tests.support.docx import Making, run
from tests.support.epub import book
from tests.support.pdf import jpeg

SETTINGS = ReadSettings()

# What stands before and behind the gap of a picture without alternative text, in Markdown.
MARKDOWN = (
    ("![", "](a.png)"),
    ("![", '](a.png "A title")'),
    ("![", "](<a b.png>)"),
    ("![", "][ref]"),
    ("[![", "](a.png)](elsewhere.html)"),
    ("| one | two |\n|---|---|\n| ![", "](a.png) | three |"),
    ("> - ![", "](a.png)"),
    ('<img src="a.png" alt="', '">'),
    ("<img alt='", "' src='a.png' />"),
    ('<p><img class="big" src=a.png alt="', '"/></p>'),
)
# Things that look like pictures, or lead astray whoever looks for them.
OTHERS = (
    "Some text with `![](code.png)` and \\![](escaped.png).",
    "![has one](b.png)",
    "<!-- ![](hidden.png) <img src=hidden.png> -->",
    "    ![](indented-code.png)",
    "```\n<img src=fenced.png>\n![](fenced.png)\n```",
    "An `<img` that isn't one, \"quoted, and it's open.",
    "![ref] and [text](page.html), 3 < 4 > 2 & so on.",
    "## A heading ##",
    '<img src="b.png" alt="Has one, too">',
)
WORDS = st.text(st.sampled_from("abc ]['\"<>&*_`\\|(){}!~#$äж中&lt;."), min_size=1, max_size=30)


def inserted(path, alts, *, over=False):
    """The bytes of a document with alternative texts."""
    return insert_alts(path, path.read_bytes(), alts, SETTINGS, over=over).data


def alts_of(path, data=None):
    """The alternative texts of a document, which first gets these bytes."""
    if data is not None:
        path.write_bytes(data)
    return [image.alt for image in read(path).images]


def meant(text: str) -> str:
    return " ".join(text.split())


def own(markup: str, number: int) -> str:
    """The markup with an address of its own, as a picture that comes twice in a row counts once."""
    return re.sub(r"\ba\.png|a b\.png", f"{number}.png", markup).replace("[ref]", f"[ref{number}]")


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([*MARKDOWN, *OTHERS]), min_size=1, max_size=6),
    st.lists(WORDS.filter(str.strip), min_size=6, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.randoms(use_true_random=False),
)
def test_markdown_reads_back_and_keeps_every_other_byte(tmp_path_factory, pieces, texts, end, encoding, random):
    path = tmp_path_factory.mktemp("md") / "a.md"
    pieces = [p if isinstance(p, str) else (own(p[0], k), own(p[1], k)) for k, p in enumerate(pieces)]
    pieces.append("".join(f"[ref{k}]: {k}.png\n" for k in range(len(pieces))))
    source = "\n\n".join(p if isinstance(p, str) else "".join(p) for p in pieces)
    path.write_bytes(source.replace("\n", end).encode(encoding))
    before = read(path)
    missing = [n for n, image in enumerate(before.images) if not image.alt]
    assert len(missing) == sum(not isinstance(piece, str) for piece in pieces)
    alts = {n: texts[k] for k, n in enumerate(missing) if random.random() < 0.7}
    data = inserted(path, alts)
    # Put together in another way: every piece of the document, and what may stand in the gap.
    gaps = iter(range(len(missing)))
    parts = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
        else:
            n = missing[next(gaps)]
            markup = "attribute" if "<img" in piece[0] else "markdown"
            parts.append(piece[0] + (escaped(meant(alts[n]), markup) if n in alts else "") + piece[1])
    assert data == "\n\n".join(parts).replace("\n", end).encode(encoding)
    path.write_bytes(data)
    after = read(path)
    assert [i.alt for i in after.images] == [
        meant(alts[n]) if n in alts else image.alt for n, image in enumerate(before.images)
    ]
    assert [i.source for i in after.images] == [i.source for i in before.images]
    assert after.sentences == before.sentences


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('<img src="a.png">', '<img alt="A &quot;b&quot; &amp; c" src="a.png">'),
        ("<img src=a.png>", '<img alt="A &quot;b&quot; &amp; c" src=a.png>'),
        ("<IMG SRC='a.png' ALT=''/>", "<IMG SRC='a.png' ALT='A &quot;b&quot; &amp; c'/>"),
        ("<img alt src=a.png>", '<img alt="A &quot;b&quot; &amp; c" src=a.png>'),
        ("<img alt= src=a.png>", None),  # whose alternative text is "src=a.png": no picture
        ('<img src="a.png" alt="  "\n  title="x > y">', None),
        ('<img data-alt="" src="a.png"/>', '<img alt="A &quot;b&quot; &amp; c" data-alt="" src="a.png"/>'),
    ],
)
def test_html_tags(tmp_path, tag, expected):
    path = tmp_path / "a.html"
    path.write_text(f"<!doctype html>\n<title>x</title><p>Text.</p>\n<!-- {tag} -->{tag}\n<p>More.</p>")
    if not read(path).images:
        assert expected is None
        return
    data = inserted(path, {0: 'A "b" & c'}).decode()
    if expected is None:
        expected = tag.replace('"  "', '"A &quot;b&quot; &amp; c"')
    assert data == f"<!doctype html>\n<title>x</title><p>Text.</p>\n<!-- {tag} -->{expected}\n<p>More.</p>"
    assert alts_of(path, data.encode()) == ['A "b" & c']


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('<img src="a.png">', '<img alt="" role="presentation" src="a.png">'),
        ("<IMG SRC='a.png' ALT='IMG 1'/>", "<IMG SRC='a.png' ALT='' role='presentation'/>"),
        ("<img src=a.png alt=x>", '<img src=a.png alt="" role="presentation">'),
        ("<img alt src=a.png>", '<img alt="" role="presentation" src=a.png>'),
        ('<img src="a.png" role="img">', None),
        ('<img role="img" src="a.png" alt="x">', None),
        ('<input type="image" src="a.png">', None),
    ],
)
@pytest.mark.parametrize("name", ["a.html", "a.md"])
def test_an_empty_text_marks_a_tag_as_decoration(tmp_path, tag, expected, name):
    path = tmp_path / name
    path.write_text(f"<p>Some text.</p>\n\n<p>{tag} and more.</p>\n")
    if expected is None:
        with pytest.raises(DocumentError, match="only a tag <img> without a role can mark"):
            inserted(path, {0: ""}, over=True)
        return
    data = inserted(path, {0: ""}, over=True).decode()
    assert data == f"<p>Some text.</p>\n\n<p>{expected} and more.</p>\n"
    path.write_text(data)
    assert [(image.alt, image.decorative) for image in read(path).images] == [(None, True)]


def test_what_cannot_mark_decoration_is_refused(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("Some text.\n\n![](a.png)\n")
    with pytest.raises(DocumentError, match="by hand"):
        inserted(path, {0: ""})
    path = tmp_path / "a.docx"
    path.write_bytes(word_file())
    with pytest.raises(DocumentError, match="by hand"):
        inserted(path, {0: ""})
    path = tmp_path / "a.epub"
    path.write_bytes(book({"one": "<p>Text.</p><img src='../img/a b.jpg'/>"}))
    path.write_bytes(inserted(path, {0: ""}))
    assert [(image.alt, image.decorative) for image in read(path).images] == [(None, True)]


def test_what_an_encoding_cannot_say_becomes_a_character_reference(tmp_path):
    path = tmp_path / "a.html"
    head = '<meta charset="iso-8859-1"><p>Caf\u00e9, and some more words.</p>'
    path.write_bytes(f"{head}<img src=a.png>".encode("latin-1"))
    data = inserted(path, {0: "\u00e9 \u03bc"})
    assert data == f'{head}<img alt="\u00e9 &#956;" src=a.png>'.encode("latin-1")
    assert alts_of(path, data) == ["\u00e9 \u03bc"]


def test_tags_of_site_generators(tmp_path):
    path = tmp_path / "a.md"
    path.write_text('![[a.png]]\n\n{{< figure src="b.png" caption="x" >}}\n\n![[c.png|300]]\n')
    data = inserted(path, {0: "One", 1: 'Two "2"'}).decode()
    assert data == '![[a.png|One]]\n\n{{< figure alt="Two \\"2\\"" src="b.png" caption="x" >}}\n\n![[c.png|300]]\n'
    with pytest.raises(DocumentError, match="write it by hand"):
        inserted(path, {2: "Three"})
    with pytest.raises(DocumentError, match="would read differently"):
        inserted(path, {0: "One ]] two"})


def test_figures_of_quarto_have_it_beside_their_caption(tmp_path):
    path = tmp_path / "a.qmd"
    path.write_text("Text.\n\n![Barns.](a.png){#fig-a width=3}\n\n![Cows.](b.png){#fig-b fig-alt='Two cows'}\n")
    assert [(i.caption, i.alt) for i in read(path).images] == [("Barns.", None), ("Cows.", "Two cows")]
    data = inserted(path, {0: "A red barn & more"}).decode()
    assert data == path.read_text().replace("#fig-a", '#fig-a fig-alt="A red barn & more"')
    assert alts_of(path, data.encode()) == ["A red barn & more", "Two cows"]
    path.write_text("![Barns.](a.png){#fig-a}\n")
    with pytest.raises(DocumentError, match="would read differently"):
        inserted(path, {0: 'A "barn"'})


def test_only_pictures_without_a_text(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("![has](a.png) ![](b.png)")
    for number in (0, 2, -1):
        with pytest.raises(DocumentError, match="is not there, or has"):
            inserted(path, {number: "x"})
    pdf = tmp_path / "a.pdf"
    pdf.write_bytes(b"%PDF-1.4\n")
    with pytest.raises(DocumentError, match="Markdown, HTML, DOCX and EPUB only"):
        inserted(pdf, {0: "x"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("![IMG_1](a.png)", "![A \\[red\\] barn](a.png)"),
        ("![a *b* \\] c][r]\n\n[r]: a.png\n", "![A \\[red\\] barn][r]\n\n[r]: a.png\n"),
        ("<img alt='x' src=a.png> `![x](a.png)`", "<img alt='A [red] barn' src=a.png> `![x](a.png)`"),
        ("<img src=a.png alt=x>", '<img src=a.png alt="A [red] barn">'),
        ("![](a.png)", "![A \\[red\\] barn](a.png)"),
        ("![x][]\n\n[x]: a.png\n", None),
    ],
)
def test_a_text_takes_the_place_of_one_that_is_there_if_it_is_to(tmp_path, before, after):
    path = tmp_path / "a.md"
    text = "Some text.\n\n{}\n\n![stays](b.png)\n"
    path.write_text(text.format(before))
    if after is None:
        with pytest.raises(DocumentError, match="write it by hand"):
            inserted(path, {0: "A [red] barn"}, over=True)
        return
    data = inserted(path, {0: "A [red] barn"}, over=True).decode()
    assert data == text.format(after)
    assert alts_of(path, data.encode()) == ["A [red] barn", "stays"]


def zipped(data: bytes) -> list[tuple[str, tuple[object, ...], bytes, bytes]]:
    """All that a zip file says of each member, and how it is packed, by another reader than ours."""
    found: list[tuple[str, tuple[object, ...], bytes, bytes]] = []
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        for info in file.infolist():
            start = info.header_offset
            names = int.from_bytes(data[start + 26 : start + 28], "little")
            extra = int.from_bytes(data[start + 28 : start + 30], "little")
            packed = data[start + 30 + names + extra :][: info.compress_size]
            kept = (info.date_time, info.external_attr, info.extra, info.comment, info.compress_type)
            found.append((info.filename, kept, packed, file.read(info)))
    return found


def inline(relation: str, properties: str) -> str:
    return (
        f'<w:r><w:drawing><wp:inline><wp:extent cx="9" cy="9"/><wp:docPr {properties}/><a:graphic><a:graphicData uri="u">'
        '<pic:pic><pic:nvPicPr><pic:cNvPr id="0" name="a.png"/></pic:nvPicPr><pic:blipFill>'
        f'<a:blip r:embed="{relation}"/></pic:blipFill><pic:spPr/></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    )


def word_file() -> bytes:
    making = Making()
    one, two, three = (making.embed(jpeg((80 + n, 80))) for n in range(3))
    making.add(run("Before."), inline(one, 'id="1" name="P 1"'))
    making.add(run("Amid."), inline(two, 'id="2" name="P 2" descr="Has one"'))
    making.add(inline(three, 'id="3" name="P 3" descr="AI-generated content may be incorrect."'), run("After."))
    return making.bytes()


def test_word_files_keep_every_other_part(tmp_path):
    path = tmp_path / "a.docx"
    path.write_bytes(word_file())
    assert alts_of(path) == [None, "Has one", None]
    before = path.read_bytes()
    result = insert_alts(path, before, {0: 'A "b" <c>', 2: "Three"}, SETTINGS)
    assert alts_of(path, result.data) == ['A "b" <c>', "Has one", "Three"]
    old, new = zipped(before), zipped(result.data)
    assert [each[:2] for each in old] == [each[:2] for each in new]
    assert [a[0] for a, b in zip(old, new, strict=True) if a != b] == ["word/document.xml"]
    ((name, was, became),) = result.changes
    assert name == "word/document.xml"
    assert (
        became.replace(' descr="A &quot;b&quot; &lt;c&gt;"', "").replace(
            "Three", "AI-generated content may be incorrect."
        )
        == was
    )


def test_word_files_and_books_take_a_text_in_the_place_of_another(tmp_path):
    path = tmp_path / "a.docx"
    path.write_bytes(word_file())
    assert alts_of(path, inserted(path, {0: "One", 1: "Two"}, over=True)) == ["One", "Two", None]
    path = tmp_path / "a.epub"
    path.write_bytes(book({"one": "<p>Text.</p><img alt='IMG_1' src='../img/a b.jpg'/>"}))
    assert alts_of(path, inserted(path, {0: "One & two"}, over=True)) == ["One & two"]


def test_books_keep_every_other_part(tmp_path):
    body = (
        "<h1>Eins</h1><p>Text &amp; more.</p><img src='../img/a b.jpg'/><p>End.</p><img alt='' src='../img/lost.jpg'/>"
    )
    path = tmp_path / "a.epub"
    path.write_bytes(book({"one": body, "two": body}))
    before = path.read_bytes()
    missing = [n for n, image in enumerate(read(path).images) if not image.alt]
    assert missing == [0, 1, 2, 3]
    result = insert_alts(path, before, {2: "Zwei & drei"}, SETTINGS)
    assert alts_of(path, result.data) == [None, None, "Zwei & drei", None]
    old, new = zipped(before), zipped(result.data)
    assert [a[0] for a, b in zip(old, new, strict=True) if a != b] == ["OEBPS/text/two.xhtml"]
    assert new[0][0] == "mimetype"
    assert result.data[:80] == before[:80]  # stored, and first
    assert [each[:2] for each in old] == [each[:2] for each in new]


def test_one_description_for_several_pictures_is_refused(tmp_path):
    making = Making()
    relation = making.embed(jpeg((80, 80)))
    blip = (
        '<pic:pic><pic:nvPicPr><pic:cNvPr id="0" name="a"/></pic:nvPicPr><pic:blipFill>'
        f'<a:blip r:embed="{relation}"/></pic:blipFill><pic:spPr/></pic:pic>'
    )
    making.add(
        '<w:r><w:drawing><wp:inline><wp:docPr id="1" name="G"/><a:graphic><a:graphicData uri="u">'
        f"{blip}{blip}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )
    path = tmp_path / "a.docx"
    path.write_bytes(making.bytes())
    with pytest.raises(DocumentError, match="write it by hand"):
        inserted(path, {0: "Both"})


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.sampled_from("<img alt=\"' />x!][({{figure src>\n"), max_size=80),
    st.sampled_from(["markdown", "html", "docx"]),
    st.booleans(),
)
def test_gaps_of_any_text_are_in_order_and_apart(text, format_, over):
    gaps = find_gaps(text, format_, over=over)
    assert all(0 <= gap.start <= gap.end <= len(text) for gap in gaps)
    assert [gap.start for gap in gaps] == sorted(gap.start for gap in gaps)


@pytest.mark.slow
def test_many_tags_and_quotes_cost_linear_time():
    assert len(find_gaps("![" + "a" * 1_000_000 + "![b](c)" * 100_000, "markdown", over=True)) == 100_000
    assert find_gaps("![" * 500_000, "markdown", over=True) == []
    assert len(find_gaps("<img src='" * 100_000, "html")) == 50_000
    assert len(find_gaps('<img src="a">' * 100_000 + "<img src='", "html")) == 100_000
    assert len(find_gaps("<img src='" + '<img src="a">' * 100_000, "html")) == 100_000
