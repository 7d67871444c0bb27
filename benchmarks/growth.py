"""Whether reading takes time in proportion to size, whatever a document holds.

    python -m benchmarks.growth [--pairs] [--only TEXT]

Documents of one repeated piece are read at a size, twice that, four times, until it takes half a second of CPU time.
The pieces are those that once took minutes, what the readers look for (marks, tags, attributes, elements), with
``--pairs`` every two of those (hours), and texts made from every regular expression of the readers. The exit status is
1 where time grows with more than the power 1.5 of the size, or memory passes its limit; a suspect is measured twice.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from html import escape
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

import iconotext
from iconotext.errors import IconotextError
from iconotext.read import read
from tests.fuzz.expressions import Attack, Found, attacks, expressions
from tests.fuzz.run import here
from tests.fuzz.seeds import CONTAINER, packed, seeds

Shape = Callable[[int], tuple[str, bytes]]
"""From a size in characters to a file's suffix and bytes."""

FIRST, LAST = 4_000, 1_024_000
FLOOR = 0.05
ENOUGH = 0.5
LIMIT = 20
MEMORY = 3 * 2**30
POWER = 1.5
LONG = "A paragraph of running text that is long enough to count as the middle of an article, or so one thinks."

MARKS = (
    '[¦]¦![¦(¦)¦<¦<!--¦<?¦<!A¦<![CDATA[¦<a ¦<a b="¦`¦``¦*¦**¦_¦~~¦\\¦&¦&#¦|¦||¦|-¦\n¦\n\n¦    ¦\t¦> ¦- ¦1. ¦#¦=¦---\n'
    '¦[^a]¦[^¦[^a]: x\n¦[a]: b\n¦[a]:¦\n: ¦!!! ¦```\n¦"¦\'¦http://¦{¦{{¦{{<x ¦{{% a="¦{% a ¦{% highlight %}¦<a>¦<p>'
    "¦a\n:   ¦:-:¦](¦[]()¦![](a b¦![[a.png¦![](){#a¦:material-¦“¦।¦a. ¦?”"
).split("¦")
TAGS = (
    "a b i p div span h1 ul li table tr td th figure figcaption picture source img br header nav aside main article"
    " section svg title blockquote dl dt dd noscript pre script caption form option select font center iframe object"
).split()
ATTRIBUTES = "id class style role srcset data-srcset src data-src alt title href name lang".split()
TEXT_BOX = "<w:p><w:r><w:t>Figure 1. x</w:t></w:r></w:p>"
ELEMENTS = {
    "paragraph": "<w:p><w:r><w:t>One. </w:t></w:r></w:p>",
    "empty paragraph with a bookmark": '<w:p><w:bookmarkStart w:name="b{n}"/></w:p>',
    "row": "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>",
    "control": "<w:sdt><w:sdtContent/></w:sdt>",
    "text box": f"<w:p><w:r><w:pict><w:txbxContent>{TEXT_BOX}</w:txbxContent></w:pict></w:r></w:p>",
}
RUNS = {
    "run": "<w:r><w:t>One. </w:t></w:r>",
    "bookmark": '<w:bookmarkStart w:name="b{n}"/>',
    "break": "<w:r><w:br/></w:r>",
    "field": '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
    "instruction": "<w:r><w:instrText>REF a </w:instrText></w:r>",
    "simple field": '<w:fldSimple w:instr=" REF a{n} "><w:r><w:t>One. </w:t></w:r></w:fldSimple>',
    "link": '<w:hyperlink w:anchor="a{n}"><w:r><w:t>One. </w:t></w:r></w:hyperlink>',
    "picture": '<w:r><w:pict><v:imagedata r:id="x"/></w:pict></w:r>',
    "alternative": "<w:r><w:AlternateContent><w:Choice/></w:AlternateContent></w:r>",
}


def shapes(*, pairs: bool) -> Iterator[tuple[str, Shape]]:
    """Every shape with its name."""
    yield from _known()
    for mark in [*MARKS, *("".join(two) for two in itertools.permutations(MARKS, 2) if pairs)]:
        yield f"markdown {mark!r}", _markdown(mark)
    tags = [f"<{tag}>" for tag in TAGS] + [f"<{tag}>One. </{tag}>" for tag in TAGS]
    for piece in [*tags, *("".join(two) for two in itertools.permutations(tags, 2) if pairs)]:
        yield f"html {piece}", _html(piece)
    for tag in TAGS:
        yield f"html 200 {tag} around text", _nested(tag)
    for name in ATTRIBUTES:
        for value in ("a-", " ", "a 1x,", "menu ", "-", "#"):
            yield f"html {name} of {value!r}", _around(f"<div><img {name}='", value, "'></div>")
    yield "html attributes", _numbered("<p ", "a{n}=1 ", ">text</p>")
    for name, piece in ELEMENTS.items():
        yield f"docx {name}", _docx(piece, "{}")
    for name, piece in RUNS.items():
        yield f"docx {name}", _docx(piece, "<w:p>{}</w:p>")
    begun = 'w:fldCharType="begin"/></w:r><w:r><w:instrText>'
    yield (
        "docx instruction in pieces",
        _docx("<w:t/><w:instrText>a</w:instrText>", f"<w:p><w:r><w:fldChar {begun}x</w:instrText>{{}}</w:r></w:p>"),
    )
    for found in expressions(Path(iconotext.__file__).parent, "read"):
        for number, attack in enumerate(attacks(found.expression)):
            if number % 7 == 0 or pairs:  # the test of the expressions tries all of them
                yield f"text against {found.place} no. {number}", _against(found, attack)


def _known() -> Iterator[tuple[str, Shape]]:
    """What once took minutes."""
    for value in ("a", "1", "a,", "a 1x,", " "):
        yield f"srcset of {value!r}", _around('<img srcset="a ', value, ' b">')
    for value in ("a-", "_-", "menu "):
        yield f"class of {value!r}", _around('<div class="', value, f'">{LONG}</div>')
    yield "pictures", _around("<div>", "<img src=a.png>", "</div>")
    yield "pictures behind text", _around("<div>", "<b>a</b>", "</div>", "<img src=a.png>")
    yield (
        "sources and pictures",
        _around("<picture>", "<source srcset=b.png></source>", "</picture>", "<img src=a.png>"),
    )
    yield (
        "240 menus around text",
        lambda n: _page('<div class="menu">' * 240 + f"<p>{LONG}</p>" * (n // 100) + "</div>" * 240),
    )
    yield "menus between text", _around("<main>", "<nav>x</nav>text text ", "</main>")
    yield "figure of captions", _around("<figure><img src=a.png>", "<figcaption>One.</figcaption>", "</figure>")
    yield "links and sentences", _around("<p>", "<a href='#a'>One</a>. Two. ", "</p>")
    yield "sentences and pictures", _around("<p>", "One is here. <img src=a.png> ", "</p>")
    for mark in ("“", "।", "?”", "。", '"', "a"):
        yield f"marks {mark!r}", _markdown(mark, before="Hello world. ")
    yield "styles on styles", lambda n: (".docx", _with_styles(n // 90))
    yield (
        "alternative text of spaces",
        lambda n: (
            ".docx",
            _document(
                f'<w:p><w:r><w:drawing><w:inline><w:docPr w:descr="{" " * n}"/></w:inline></w:drawing></w:r></w:p>'
            ),
        ),
    )
    yield (
        "merged aliases",
        lambda n: (
            ".md",
            (
                "---\na0: &a0 {x: 1}\n"
                + "".join(f"a{i + 1}: &a{i + 1} {{<<: [{f'*a{i}, ' * 9}]}}\n" for i in range(n // 100))
                + "---\nText.\n"
            ).encode(),
        ),
    )
    for unit in ("[", "{a: ", "- ", "? ", "a: &a\n", "!!", "'", "#"):
        yield f"front matter of {unit!r}", _markdown(unit, before="---\na: ", after="\n---\nText.\n")
    for unit in ("a.", "[[a]]\n", "[", "{a="):
        yield f"TOML of {unit!r}", _markdown(unit, before="+++\n", after="a = 1\n+++\nText.\n")
    yield "encoding", lambda n: (".html", b"<html><meta charset=punycode><p>" + b"a-" * (n // 2))
    yield "chapters", lambda n: (".epub", _book(n // 200))


def _markdown(piece: str, before: str = "Text.\n\n", after: str = "") -> Shape:
    return lambda n: (".md", (before + piece * (n // len(piece)) + after).encode())


def _page(body: str) -> tuple[str, bytes]:
    return (
        ".html",
        f"<!DOCTYPE html><html lang='en'><body><article><p>{LONG}</p>{body}</article></body></html>".encode(),
    )


def _html(piece: str) -> Shape:
    return lambda n: _page(piece * (n // len(piece)))


def _around(before: str, piece: str, after: str, second: str = "") -> Shape:
    return lambda n: _page(before + piece * (n // len(piece)) + second * (n // (len(second) or 1)) + after)


def _numbered(before: str, piece: str, after: str) -> Shape:
    return lambda n: _page(before + "".join(piece.format(n=i) for i in range(n // len(piece))) + after)


def _nested(tag: str) -> Shape:
    return lambda n: _page(
        f"<{tag} class='menu' id=a>" * 200
        + f"<p>One <a href=b>two</a>. <b>{LONG}</b></p>" * (n // 130)
        + f"</{tag}>" * 200
    )


def _document(body: str) -> bytes:
    spaces = 'xmlns:w="w" xmlns:v="v" xmlns:r="r"'
    return packed({"word/document.xml": f"<w:document {spaces}><w:body>{body}</w:body></w:document>"})


def _docx(piece: str, around: str) -> Shape:
    return lambda n: (
        ".docx",
        _document(around.replace("{}", "".join(piece.replace("{n}", str(i)) for i in range(n // len(piece))))),
    )


def _with_styles(count: int) -> bytes:
    one = '<w:style w:type="paragraph" w:styleId="s{0}"><w:name w:val="s{0}"/><w:basedOn w:val="s{1}"/></w:style>'
    styles = "".join(one.format(i, i + 1) for i in range(count))
    relation = '<Relationship Id="a" Type="x/styles" Target="styles.xml"/>'
    return packed(
        {
            "word/document.xml": '<w:document xmlns:w="w"><w:body><w:p/></w:body></w:document>',
            "word/_rels/document.xml.rels": f"<Relationships>{relation}</Relationships>",
            "word/styles.xml": f'<w:styles xmlns:w="w">{styles}</w:styles>',
        }
    )


def _book(count: int) -> bytes:
    items = "".join(f'<item id="c{i}" href="c{i}.xhtml" media-type="application/xhtml+xml"/>' for i in range(count))
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(count))
    pages = {f"OEBPS/c{i}.xhtml": f"<html><body><nav>x</nav><p>Chapter {i}.</p></body></html>" for i in range(count)}
    package = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    return packed({"META-INF/container.xml": CONTAINER, "OEBPS/content.opf": package, **pages})


def _against(found: Found, attack: Attack) -> Shape:
    """A text on which an expression of a reader takes longest, in places where that reader meets it."""

    def shape(n: int) -> tuple[str, bytes]:
        text, _ = attack.texts(n)
        place = found.place.removeprefix("read/")
        if place.startswith(("markdown", "templates", "sentences", "blocks", "assemble", "address")):
            return ".md", ("Text { here.\n\n" + text).encode("utf-8", "replace")
        if place.startswith("docx"):
            quoted = escape(text.replace("\x00", ""))
            field = f'<w:fldSimple w:instr="{quoted}"><w:r><w:t>{quoted}</w:t></w:r></w:fldSimple>'
            drawing = f'<w:r><w:drawing><w:inline><w:docPr w:descr="{quoted}"/></w:inline></w:drawing></w:r>'
            return ".docx", _document(f"<w:p>{field}{drawing}</w:p>")
        quoted = escape(text)
        values = " ".join(f'{name}="{quoted}"' for name in ("class", "srcset", "alt", "href", "lang"))
        return (
            ".html",
            f"{text}<html><body><p>{LONG}</p><div {values}><img {values}>{quoted}</div></body></html>".encode(
                "utf-8", "replace"
            ),
        )

    return shape


def measure(shape: Shape) -> tuple[list[tuple[int, float]], str]:
    """(size, CPU seconds) for each size, and "" or how it ended; in a process that may come to its limits."""
    fork = multiprocessing.get_context("fork")
    mine, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=_measure, args=(theirs, shape))
    process.start()
    theirs.close()
    points = []
    try:
        while True:
            points.append(mine.recv())
    except EOFError:
        process.join()
    return (
        points,
        "" if process.exitcode == 0 else f"ended with {process.exitcode} (limits: {LIMIT} s, {MEMORY >> 30} GiB)",
    )


def _measure(pipe: Connection, shape: Shape) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    size = FIRST
    with tempfile.TemporaryDirectory() as folder:
        while size <= LAST:
            suffix, data = shape(size)
            path = Path(folder, "a" + suffix)
            path.write_bytes(data)
            start = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (int(start) + LIMIT, resource.RLIM_INFINITY))
            try:
                read(path)
            except IconotextError as error:
                if isinstance(error.__cause__, MemoryError):
                    raise SystemExit(3) from error
            taken = time.process_time() - start
            pipe.send((size, taken))
            size *= 2
            if taken > ENOUGH:
                return


def power(points: list[tuple[int, float]]) -> float | None:
    """With which power of the size time grows where there is time to speak of; None where there is none."""
    timed = [(n, seconds) for n, seconds in points if seconds > FLOOR][-4:]
    if len(timed) < 2:
        return None
    (small, little), (large, much) = timed[0], timed[-1]
    return math.log(much / little) / math.log(large / small)


def warm_up(folder: Path) -> None:
    """Load everything, so that no measurement pays for it."""
    vars(import_module("iconotext.read")).update(run_isolated=here)
    for format_, suffix in (("markdown", ".md"), ("html", ".html"), ("docx", ".docx"), ("epub", ".epub")):
        path = folder / f"a{suffix}"
        path.write_bytes(seeds(format_)[0])
        read(path)
    page = folder / "b.html"
    page.write_text(
        f"<html><body><div>{f'<p>{LONG}</p>' * 9}</div><div><p>Größe und Maß, jede Menge davon.</p></div></body></html>"
    )
    read(page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", action="store_true", help="every two pieces too, which takes hours")
    parser.add_argument("--only", default="", help="shapes with this text in their name")
    choices = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        warm_up(Path(folder))
    bad, tried = [], 0
    for name, shape in shapes(pairs=choices.pairs):
        if choices.only not in name:
            continue
        points, end = measure(shape)
        grown = power(points)
        if end or (grown is not None and grown > POWER):
            points, end = measure(shape)
            grown = power(points)
        if end or (grown is not None and grown > POWER):
            bad.append(name)
        tried += 1
        size, seconds = points[-1] if points else (0, 0.0)
        if name in bad or grown is not None:
            shown = "" if grown is None else f"power {grown:.2f}"
            verdict = f"  GROWS {end}" if name in bad else ""
            print(f"{shown:10} {size:9,} in {seconds:5.2f} s  {name}{verdict}", flush=True)
    print(f"{tried} shapes, {len(bad)} grow faster than size")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
