"""Does one article read the same from every format?

Makes DOCX, EPUB and PDF versions of the articles in ``originals`` (Markdown, HTML) with pandoc, LibreOffice and
Chromium, as far as they are installed, reads all of them, and compares each with the original: sentences (share that is
equal, by difflib), pictures in the same order, their captions, and their positions among the sentences.

    python benchmarks/versions.py --data DATA [--only NAME]

DATA is the folder of shared data, by default $ICONOTEXT_DATA, else shared/data beside the checkout.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from data_folder import parser_with_data
from lxml import html as lxml_html

from iconotext.errors import IconotextError, ImageError
from iconotext.images import decode
from iconotext.read import ReadSettings, read
from iconotext.read.address import Addresses
from iconotext.read.html import image_sources
from iconotext.read.markdown import expand_site_tags, split_front_matter
from iconotext.read.positions import EditedText
from iconotext.types import Document, Image

SECONDS = 180
CHROMIUM = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
COLUMNS = (
    "<style>body{columns:2;font:11px serif;text-align:justify;hyphens:auto} h1{column-span:all}"
    " figure{margin:0} figcaption{font-size:9px}</style>"
)


@dataclass(frozen=True)
class Agreement:
    """How far one version agrees with the original; shares of 0 to 1, None where there is nothing to compare."""

    article: str
    version: str
    sentences: float
    pictures: float | None
    captions: float | None
    positions: float | None
    problem: str | None = None


def main() -> int:
    parser = parser_with_data(__doc__)
    parser.add_argument("--only", default="", help="only articles whose folder has this in its name")
    arguments = parser.parse_args()
    manifest = arguments.data / "originals" / "manifest.json"
    if not manifest.is_file():
        print(f"{manifest}: no such file; name the data with --data", file=sys.stderr)
        return 1
    for program in ("pandoc", "soffice", "chromium"):
        if shutil.which(program) is None:
            print(f"{program} is not installed: its versions are left out", file=sys.stderr)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for entry in json.loads(manifest.read_text()):
            folder = arguments.data / entry["dir"]
            if arguments.only in entry["dir"]:
                target = Path(temporary) / folder.name
                target.mkdir(parents=True, exist_ok=True)
                for row in compare(folder / entry["document"], folder, target):
                    rows.append(row)
                    print(line(row), flush=True)
    print(*map(line, means(rows)), sep="\n")
    return 0


def compare(path: Path, root: Path, target: Path) -> Iterator[Agreement]:
    """Read every version of an article and compare it with the original."""
    settings = ReadSettings(root=root)
    original = read(path, settings)
    for name, version in versions(path, root, target):
        try:
            yield agreement(root.name, name, original, read(version, ReadSettings(root=target)))
        except IconotextError as error:
            yield Agreement(root.name, name, 0.0, None, None, None, str(error))


def versions(path: Path, root: Path, target: Path) -> Iterator[tuple[str, Path]]:
    page = target / "page.html"
    page.write_text(as_page(path, root, target), encoding="utf-8")
    yield "html", page
    two = target / "columns.html"
    two.write_text(page.read_text(encoding="utf-8").replace("</head>", COLUMNS + "</head>"), encoding="utf-8")
    for kind in ("docx", "epub"):
        made = target / f"article.{kind}"
        if run("pandoc", "-f", "html", f"--resource-path={target}", str(page), "-o", str(made)) and made.is_file():
            yield kind, made
    home = f"-env:UserInstallation={(target / 'office').as_uri()}"
    made = target / "article.pdf"
    if run("soffice", home, "--headless", "--convert-to", "pdf", "--outdir", str(target), str(target / "article.docx")):
        yield "pdf-office", made
    for name, source in (("pdf-browser", page), ("pdf-columns", two)):
        made = target / f"{name}.pdf"
        profile = f"--user-data-dir={target / 'browser'}"
        if run("chromium", *CHROMIUM.split(), profile, f"--print-to-pdf={made}", source.as_uri()) and made.is_file():
            yield name, made


def as_page(path: Path, root: Path, target: Path) -> str:
    """The article as one HTML page, its pictures copied beside it under names that every program understands."""
    names: dict[Path, str] = {}
    if path.suffix == ".html":
        body = path.read_text(encoding="utf-8")
    else:
        text, _ = split_front_matter(path.read_text(encoding="utf-8"))
        source = expand_site_tags(EditedText(text)).text  # pandoc does not know the tags of site generators
        done = subprocess.run(
            ["pandoc", "-f", "gfm", "-t", "html"], input=source, capture_output=True, text=True, check=True
        )
        body = f"<html lang='en'><head><title></title></head><body>{done.stdout}</body></html>"
    tree = lxml_html.document_fromstring(body)
    addresses = Addresses(path, root, ReadSettings(root=root))
    for image in list(tree.iter("img")):
        for source in image_sources(image):
            try:
                found = addresses.open(source)
                if isinstance(found, Path):
                    name = names.setdefault(found, f"picture-{len(names) + 1}{found.suffix}")
                    shutil.copyfile(found, target / name)
                    image.set("src", name)
                break
            except ImageError:
                continue
    page: str = lxml_html.tostring(tree, encoding="unicode", doctype="<!DOCTYPE html>")
    return page.replace("</head>", '<meta charset="utf-8"><style>img{max-width:100%;max-height:8in}</style></head>', 1)


def run(program: str, *arguments: str) -> bool:
    if shutil.which(program) is None:
        return False
    try:
        done = subprocess.run([program, *arguments], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def agreement(article: str, version: str, original: Document, other: Document) -> Agreement:
    ours, theirs = ([normal(s.text) for s in document.sentences] for document in (original, other))
    sentences = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
    good = [image for image in original.images if image.problem is None]
    pairs = matched(good, [image for image in other.images if image.problem is None])
    if not good:
        return Agreement(article, version, sentences, None, None, None)
    captions = [normal(a.caption or "") == normal(b.caption or "") for a, b in pairs]
    places = [same_place(ours, a.position or 0, theirs, b.position or 0) for a, b in pairs]
    return Agreement(
        article,
        version,
        sentences,
        len(pairs) / len(good),
        sum(captions) / len(pairs) if pairs else None,
        sum(places) / len(pairs) if pairs else None,
    )


def normal(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).strip()


def same_place(ours: list[str], here: int, theirs: list[str], there: int) -> bool:
    """Whether the sentence before or the one after is the same."""
    before = here and there and ours[here - 1] == theirs[there - 1]
    after = here < len(ours) and there < len(theirs) and ours[here] == theirs[there]
    return bool(before or after)


def matched(ours: list[Image], theirs: list[Image]) -> list[tuple[Image, Image]]:
    """Pairs of equal pictures in the same order (longest common subsequence)."""
    small, others = [thumbnail(image) for image in ours], [thumbnail(image) for image in theirs]
    equal = np.array([[bool(np.abs(a - b).mean() < 8) for b in others] for a in small], bool).reshape(
        len(small), len(others)
    )
    best = np.zeros((len(small) + 1, len(others) + 1), int)
    for i in reversed(range(len(small))):
        for j in reversed(range(len(others))):
            best[i, j] = best[i + 1, j + 1] + 1 if equal[i, j] else max(best[i + 1, j], best[i, j + 1])
    pairs, i, j = [], 0, 0
    while i < len(small) and j < len(others):
        if equal[i, j]:
            pairs.append((ours[i], theirs[j]))
            i, j = i + 1, j + 1
        elif best[i + 1, j] >= best[i, j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def thumbnail(image: Image) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    assert image.file is not None
    return np.asarray(decode(image.file).convert("L").resize((16, 16)), float)


def means(rows: list[Agreement]) -> list[Agreement]:
    found = []
    for version in dict.fromkeys(row.version for row in rows):
        these = [row for row in rows if row.version == version]

        def mean(name: str, these: list[Agreement] = these) -> float | None:
            values = [value for row in these if (value := getattr(row, name)) is not None]
            return sum(values) / len(values) if values else None

        shares = mean("pictures"), mean("captions"), mean("positions")
        found.append(Agreement(f"mean of {len(these)}", version, mean("sentences") or 0.0, *shares))
    return found


def line(row: Agreement) -> str:
    shares = [row.sentences, row.pictures, row.captions, row.positions]
    numbers = "  ".join("    -" if share is None else f"{share:5.3f}" for share in shares)
    return f"{row.article[:44]:44}  {row.version:12}  {numbers}  {row.problem or ''}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
