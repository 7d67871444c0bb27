"""Chunks of about 200 tokens that keep their pictures: ours beside those of docling and unstructured.

    python benchmarks/chunks.py write --pages PAGES     the documents as pages of HTML and Markdown
    python benchmarks/chunks.py ours --pages PAGES      our chunks of them, as PAGES/ours.jsonl
    python benchmarks/chunks.py docling --pages PAGES   chunks of the others; in an environment that has them
    python benchmarks/chunks.py unstructured --pages PAGES
    python benchmarks/chunks.py report --pages PAGES    the table

They need the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). The documents have figures
that a sentence cites; the mark of the citation is removed. Our links are those of the model as it ships: its weights
were fitted on these documents, among others (``context.py`` has chunks by weights that had not seen them).

docling reads the HTML, where figures are ``<figure>`` with ``<figcaption>``; unstructured the Markdown, since it drops
figures of HTML. A picture is in a chunk of docling that has it or its caption among its items, and in one of
unstructured that has its ``Image`` element. Tokens are those of the tokeniser that ships, without those it adds;
unstructured counts characters, and gets ``--characters``. docling's models are not needed for HTML; unstructured needs
the pipeline of spaCy that --spacy names.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from data_folder import parser_with_data

ROOT = Path(__file__).resolve().parent.parent
TOKENIZER = ROOT / "src/iconotext/models/minilm/tokenizer.json"
FILES = {"other publishers": "cited/cited.jsonl", "OpenStax": "textbook/cited.jsonl"}
TOKENS = 200
WORD = re.compile(r"[^\W_]+")

Row = dict[str, Any]


def main() -> None:
    parser = parser_with_data(__doc__)
    parser.add_argument("command", choices=["write", "ours", "docling", "unstructured", "report"])
    parser.add_argument("--pages", type=Path, required=True)
    parser.add_argument("--characters", type=int, default=950, help="limit of unstructured, about 200 tokens here")
    parser.add_argument("--spacy", default="en_core_web_sm")
    options = parser.parse_args()
    if options.command == "write":
        write_pages(options.data / "documents", options.pages)
    elif options.command == "report":
        report(options.pages)
    elif options.command == "ours":
        ours(options.pages)
    else:
        docling(options.pages) if options.command == "docling" else unstructured(options)


def write_pages(documents: Path, pages: Path) -> None:
    """Write each document as HTML and as Markdown, and ``gold.jsonl``: its pictures with their citing sentences."""
    pages.mkdir(parents=True)
    with (pages / "gold.jsonl").open("w") as gold:
        for group, name in FILES.items():
            for number, line in enumerate((documents / name).read_text(encoding="utf-8").splitlines()):
                document = json.loads(line)
                collection = document["meta"].get("repository", "openstax").replace("/", "+")
                folder = pages / group.replace(" ", "-") / collection
                folder.mkdir(parents=True, exist_ok=True)
                if not (folder / "images").exists():
                    (folder / "images").symlink_to((documents / name).parent / "images")
                place = folder / f"{number:03}.html"
                place.write_text(page(document, html=True), encoding="utf-8")
                place.with_suffix(".md.txt").write_text(page(document, html=False), encoding="utf-8")
                cites: dict[str, list[str]] = {}
                for i, j in document["links"]:
                    cites.setdefault(document["images"][j], []).append(document["sentences"][i])
                row = {"group": group, "collection": collection, "page": str(place.relative_to(pages)), "cites": cites}
                gold.write(json.dumps(row | {"text": document["sentences"]}) + "\n")


def page(document: Row, *, html: bool) -> str:
    """The document with each picture where its author put it; which blocks were headings is not known."""
    sentences, blocks = document["sentences"], document["blocks"]
    pictures: dict[int, list[int]] = {}
    for j, position in enumerate(document["positions"]):
        pictures.setdefault(min(position, len(sentences)), []).append(j)
    parts: list[str] = []
    run: list[str] = []
    for i in range(len(sentences) + 1):
        if run and (i == len(sentences) or i in pictures or blocks[i] != blocks[i - 1]):
            parts.append(f"<p>{escape(' '.join(run))}</p>" if html else " ".join(run))
            run.clear()
        parts += [picture(document, j, html=html) for j in pictures.get(i, ())]
        run += [" ".join(sentence.split()) for sentence in sentences[i : i + 1]]
    body = "\n\n".join(parts)
    return f"<!DOCTYPE html><html lang='en'><head><title>-</title></head><body>{body}</body></html>" if html else body


def picture(document: Row, j: int, *, html: bool) -> str:
    source, caption, alt = document["images"][j], document["captions"][j] or "", document["alts"][j] or ""
    if html:
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return f'<figure><img src="{source}" alt="{escape(alt)}">{below}</figure>'
    shown = re.sub(r"[\[\]\n]", " ", alt or caption or "picture")
    return f"![{shown}]({source})" + (f"\n\n{' '.join(caption.split())}" if caption else "")


def gold_rows(pages: Path) -> list[Row]:
    return [json.loads(line) for line in (pages / "gold.jsonl").read_text().splitlines()]


def save(pages: Path, name: str, made: Iterator[Row], about: str) -> None:
    """Write a line for each page: its chunks, each with text and pictures, and what made them."""
    with (pages / f"{name}.jsonl").open("w") as file:
        for row in made:
            file.write(json.dumps(row | {"about": about}) + "\n")
            file.flush()


def ours(pages: Path) -> None:
    """Each collection is linked as a whole, as a user would link a folder."""
    import iconotext
    from iconotext.plain_text import json_text
    from iconotext.read import ReadSettings, read_all
    from iconotext.report.as_excerpts import row
    from iconotext.types import LinkedDocument

    linker = iconotext.Linker.load()
    by_collection: dict[str, list[str]] = {}
    for each in gold_rows(pages):
        by_collection.setdefault(each["collection"], []).append(each["page"])

    def made() -> Iterator[Row]:
        reading = ReadSettings(allow_outside=True)  # pictures are linked into the folder
        for names in by_collection.values():
            paths = [pages / name for name in names]
            # Documents come back in the order in which they were given.
            for name, linked in zip(names, linker.link_all(read_all(paths, reading)), strict=True):
                assert isinstance(linked, LinkedDocument), linked
                for once in (False, True):
                    found = linked.chunks(tokens=TOKENS, once=once)
                    chunks = [{"text": c.text, "pictures": [i.source for i in c.images]} for c in found]
                    size = sum(len(json_text(row(c.slim()))) for c in found)
                    yield {"page": name, "once": once, "chunks": chunks, "size": size}

    save(pages, "ours", made(), f"iconotext {iconotext.__version__}")


def docling(pages: Path) -> None:
    from docling.document_converter import DocumentConverter
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
    from docling_core.transforms.chunker.tokenizer.huggingface import HuggingFaceTokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER))  # type: ignore[no-untyped-call]
    chunker = HybridChunker(tokenizer=HuggingFaceTokenizer(tokenizer=tokenizer, max_tokens=TOKENS))
    converter = DocumentConverter()

    def made() -> Iterator[Row]:
        for each in gold_rows(pages):
            document = converter.convert(pages / each["page"]).document
            sources = re.findall(r'<img src="([^"]+)"', (pages / each["page"]).read_text())
            refs: dict[str, str] = {}
            for source, item in zip(sources, document.pictures, strict=True):
                refs[item.self_ref] = source
                refs |= dict.fromkeys((of.cref for of in (*item.captions, *item.children)), source)
            found: list[Any] = list(chunker.chunk(document))
            chunks = [
                {
                    "text": c.text,
                    "pictures": list(dict.fromkeys(refs[i.self_ref] for i in c.meta.doc_items if i.self_ref in refs)),
                }
                for c in found
            ]
            size = sum(len(json.dumps(c.export_json_dict(), ensure_ascii=False)) for c in found)
            yield {"page": each["page"], "chunks": chunks, "size": size}

    save(pages, "docling", made(), f"docling {version('docling')}, docling-core {version('docling-core')}")


def unstructured(options: argparse.Namespace) -> None:
    import spacy
    from unstructured.chunking.title import chunk_by_title
    from unstructured.nlp import tokenize
    from unstructured.partition.md import partition_md

    pipeline = spacy.load(options.spacy)
    tokenize._load_spacy_model = lambda: pipeline  # it would fetch the pipeline otherwise

    def made() -> Iterator[Row]:
        for each in gold_rows(options.pages):
            text = (options.pages / each["page"]).with_suffix(".md.txt").read_text()
            found = chunk_by_title(partition_md(text=text), max_characters=options.characters, new_after_n_chars=None)
            chunks = [
                {
                    "text": c.text,
                    "pictures": [e.metadata.image_url for e in c.metadata.orig_elements or () if e.metadata.image_url],
                }
                for c in found
            ]
            size = sum(len(json.dumps(c.to_dict(), ensure_ascii=False)) for c in found)
            yield {"page": each["page"], "chunks": chunks, "size": size}

    save(options.pages, "unstructured", made(), f"unstructured {version('unstructured')}")


def report(pages: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    gold = {row["page"]: row for row in gold_rows(pages)}
    for group in FILES:
        columns = "pictures with their sentence | chunks with pictures: one does not belong"
        print(f"\n| {group} | {columns} | chunks | above {TOKENS} tokens | longest | output / text |\n{'|---' * 7}|")
        for name in ("ours", "docling", "unstructured"):
            if (pages / f"{name}.jsonl").exists():
                rows = [json.loads(line) for line in (pages / f"{name}.jsonl").read_text().splitlines()]
                rows = [row for row in rows if gold[row["page"]]["group"] == group]
                for once in (False, True) if name == "ours" else (False,):
                    own = [row for row in rows if row.get("once", False) == once]
                    if not own:
                        continue
                    label = f"{own[0]['about']}{' --once' if once else ''}"
                    print(f"| {label} | {figures(own, gold, tokenizer)} |", flush=True)


def figures(rows: list[Row], gold: dict[str, Row], tokenizer: Any) -> str:
    """The cells of a row of the table."""
    right = cited = with_pictures = wrong = 0
    texts: list[str] = []
    size = 0
    for row in rows:
        cites = gold[row["page"]]["cites"]
        holds = [holder(chunk["text"]) for chunk in row["chunks"]]
        size += row["size"]
        texts += [chunk["text"] for chunk in row["chunks"]]
        for source, sentences in cites.items():
            homes = [n for n, chunk in enumerate(row["chunks"]) if source in chunk["pictures"]]
            hits = [any(map(holds[n], sentences)) for n in homes]
            cited, right = cited + 1, right + any(hits)
        for chunk, has in zip(row["chunks"], holds, strict=True):
            own = [source for source in set(chunk["pictures"]) if source in cites]
            with_pictures += bool(own)
            wrong += any(not any(map(has, cites[source])) for source in own)
    lengths = [len(each.ids) for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
    above = sum(length > TOKENS for length in lengths)
    return (
        f"{right / cited:.1%} | {wrong / max(with_pictures, 1):.1%} of {with_pictures} | "
        f"{len(lengths):,} | {above} | {max(lengths)} | {size / sum(map(len, texts)):.2f}"
    )


def holder(text: str) -> Callable[[str], bool]:
    """Return what tells whether a sentence is in a text as a whole, whatever the signs and spaces between its words."""
    words = plain(text)
    return lambda sentence: plain(sentence) in words


def plain(text: str) -> str:
    return f" {' '.join(WORD.findall(text))} "


if __name__ == "__main__":
    main()
