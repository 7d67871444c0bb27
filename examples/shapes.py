"""A small corpus for the examples that need one: drawn shapes, named by sentences: shapes.py [FOLDER [DOCUMENTS]].

Prints

    shapes/corpus.jsonl: 24 documents
"""

import sys
from itertools import product
from pathlib import Path
from random import Random

from PIL import Image as Pillow
from PIL import ImageDraw

from iconotext import Document, Image, Sentence, write_corpus

COLOURS = ("red", "orange", "gold", "green", "teal", "blue", "purple", "brown")
SHAPES = ("disc", "square", "triangle", "cross")


def draw(path: Path, colour: str, shape: str) -> None:
    """Write a picture of one shape on white."""
    picture = Pillow.new("RGB", (240, 240), "white")
    pen = ImageDraw.Draw(picture)
    if shape == "disc":
        pen.ellipse((40, 40, 200, 200), colour)
    elif shape == "square":
        pen.rectangle((50, 50, 190, 190), colour)
    elif shape == "triangle":
        pen.polygon([(120, 30), (210, 200), (30, 200)], colour)
    else:
        pen.line([(50, 50), (190, 190)], colour, 40)
        pen.line([(190, 50), (50, 190)], colour, 40)
    picture.save(path)


def write_shapes(folder: Path, documents: int = 24) -> Path:
    """Write a corpus of documents with three shapes each and known links; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    for colour, shape in product(COLOURS, SHAPES):
        draw(folder / f"{colour}-{shape}.png", colour, shape)
    random, corpus = Random(0), []
    for number in range(documents):
        chosen = random.sample(list(product(COLOURS, SHAPES)), 3)
        texts = [f"Then somebody draws a {shape} in {colour}." for colour, shape in chosen]
        images = [folder / f"{colour}-{shape}.png" for colour, shape in chosen]
        corpus.append(
            Document(
                id=f"drawing-{number}",
                sentences=(*map(Sentence, texts), Sentence("Nobody knows what it will be.")),
                images=tuple(
                    Image(path.name, path, caption=f"a {shape}")
                    for path, (_, shape) in zip(images, chosen, strict=True)
                ),
                links=((0, 0), (1, 1), (2, 2)),
            )
        )
    write_corpus(corpus, folder / "corpus.jsonl", force=True)
    return folder / "corpus.jsonl"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "shapes")
    documents = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    print(f"{write_shapes(folder, documents)}: {documents} documents")
