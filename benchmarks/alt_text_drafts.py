"""For how many pictures there is a draft of an alternative text, beside the simplest rules, and what these repeat.

    python benchmarks/alt_text_drafts.py --drafts drafts.jsonl

needs the data folder (--data, $ICONOTEXT_DATA, or ../shared/data beside the checkout). All alternative texts are taken
away; where the mark of a citation was removed and a sentence begins with its verb, "This" stands for it. ``textbook``
and ``openstax text`` are every fourth and every fifth document, the latter without pictures. A text repeats where
``alt_text.words.same`` says that it has the words, or nearly all the words in the same order, of the caption or of a
sentence of the document: what the HTML standard says an alternative text must not do. ``--drafts`` writes them all,
each with a short name, so that somebody can read them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from iconotext.alt_text.drafts import make_drafts
from iconotext.check.language import same, without_label, words
from iconotext.corpus.store import read_corpus, read_rows
from iconotext.linker import Linker, LinkSettings
from iconotext.read import read_all
from iconotext.types import Document, Image, LinkedDocument, Sentence

ROOT = Path(__file__).resolve().parent.parent
BARE = re.compile(r"^(?=(?:shows?|illustrates?|depicts?|displays?)\b)")
NO_PICTURES = "openstax text"
SETS = {
    "build": ("build/documents.jsonl", 1),
    "cooking": ("cooking/documents.jsonl", 1),
    "garden_home": ("garden_home/documents.jsonl", 1),
    "cited": ("cited/cited.jsonl", 1),
    "textbook": ("textbook/documents.jsonl", 4),
    NO_PICTURES: ("cited_text/openstax.jsonl", 5),
}


def documents(data: Path, name: str, offset: int) -> Iterator[Document]:
    if name == "originals":
        yield from (each for each in read_all([data / "originals"]) if isinstance(each, Document))
        return
    place, step = SETS[name]
    path = data / "documents" / place
    if name != NO_PICTURES:
        yield from list(read_corpus(path))[offset::step]
        return
    for row in list(read_rows(path))[offset::step]:
        captions, positions, blocks = row.captions or [], row.positions or [], row.blocks or []
        shown = zip(row.images, captions, positions, strict=True)
        yield Document(
            row.id,
            tuple(Sentence(text, block) for text, block in zip(row.sentences, blocks, strict=True)),
            tuple(Image(str(source), caption=caption, position=place) for source, caption, place in shown),
        )


def bare(document: Document) -> Document:
    """Without alternative texts and links, and with a subject where the mark of a citation was removed."""
    images = tuple(replace(image, alt=None) for image in document.images)
    sentences = tuple(replace(s, text=BARE.sub("This ", s.text)) for s in document.sentences)
    return replace(document, images=images, sentences=sentences, links=None)


def repeats(text: str, image: Image, said: Iterable[list[str]]) -> bool:
    own = words(text)
    captions = [words(image.caption or ""), words(without_label(image.caption or ""))]
    return any(same(own, other) for other in (*captions, *said))


def simplest(linked: LinkedDocument, number: int) -> dict[str, str | None]:
    """What the simplest rules make an alternative text of: the caption, the nearest or the best linked sentence."""
    document, image = linked.document, linked.document.images[number]
    running = [k for k, s in enumerate(document.sentences) if s.kind not in ("heading", "caption")]
    place = image.position
    near = None if place is None else min(running, key=lambda k: abs(k + 0.5 - place), default=None)
    best = max((k for k in linked.links if k.image == number), key=lambda k: k.confidence, default=None)
    return {
        "caption copied": image.caption,
        "nearest sentence copied": None if near is None else document.sentences[near].text,
        "linked sentence copied": None if best is None else document.sentences[best.sentence].text,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ICONOTEXT_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--sets", nargs="+", choices=["originals", *SETS], default=["originals", *SETS])
    parser.add_argument("--offset", type=int, default=0, help="the first document of each collection")
    parser.add_argument("--drafts", type=Path, help="where to write the drafts, to be read")
    arguments = parser.parse_args()
    rows = []
    print("| collection | pictures | rule | have a text | that repeats caption or prose | over 125 characters |")
    print("|---|---|---|---|---|---|")
    for name in arguments.sets:
        evidence = ("caption", "layout", "reference") if name == NO_PICTURES else LinkSettings().evidence
        linker = Linker.load(settings=LinkSettings(evidence=evidence))
        pictures = 0
        counts: dict[str, list[int]] = {}
        for linked in linker.link_all(bare(each) for each in documents(Path(arguments.data), name, arguments.offset)):
            if not isinstance(linked, LinkedDocument) or linked.document.language != "en":
                continue
            said = [words(s.text) for s in linked.document.sentences]
            drafts = {draft.image: draft for draft in make_drafts(linked)}
            for number, image in enumerate(linked.document.images):
                if image.problem is not None:
                    continue
                pictures += 1
                draft = drafts.get(number)
                given = {**simplest(linked, number), "draft": draft and draft.text}
                for rule, text in given.items():
                    count = counts.setdefault(rule, [0, 0, 0])
                    if text:
                        count[0] += 1
                        count[1] += repeats(text, image, said)
                        count[2] += len(text) > 125
                if draft is not None:
                    key = hashlib.sha256(f"{name} {linked.document.id} {number}".encode()).hexdigest()[:8]
                    rows.append(
                        {
                            "name": key,
                            "collection": name,
                            "draft": draft.text,
                            "from": draft.sentences[0].text,
                            "caption": image.caption,
                            "file": str(image.file),
                            "confidence": draft.confidence,
                            "visible": draft.visible,
                        }
                    )
        for rule, (have, repeated, long) in counts.items():
            shares = [f"{share:,} ({100 * share / max(whole, 1):.1f} %)" for share, whole in ((have, pictures),)]
            shares += [f"{100 * share / max(have, 1):.1f} %" for share in (repeated, long)]
            print(f"| {name} | {pictures:,} | {rule} | {' | '.join(shares)} |", flush=True)
    if arguments.drafts:
        arguments.drafts.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
