"""Pictures in the answer of a language model, from documents to the answer; it makes its data itself.

Documents are cut into chunks with their pictures, a library of pictures finds the chunks for a question, a language
model answers from their text (here the answer is given), and the pictures of these chunks go to its sentences.

Prints

    chain.png at 'Let one drop of oil fall on each link of the chain.'...
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw

from iconotext import Linker
from iconotext.library import Query, add_paths, find_images
from iconotext.place.output import markdown, placed

GUIDES = {
    "bike.md": """# The bicycle

## Brakes

Squeeze the brake lever: the pads must touch the rim on both sides at once.

![A brake pad on the rim](pad.png)

## Chain

A dry chain squeaks. Put one drop of oil on each link while you turn the pedals backwards.

![Oil on the chain](chain.png)
""",
    "tent.md": """# The tent

Push the poles through the sleeves of the tent, the longest one first.

![Poles in their sleeves](poles.png)

Pegs hold best when they lean away from the tent.

![A peg in the ground](peg.png)
""",
}
QUESTION = "My bicycle squeaks. How do I oil the chain?"
ANSWER = """Noise mostly comes from a **dry chain**.

1. Turn the pedals backwards, slowly.
2. Let one drop of oil fall on each link of the chain.
3. Wipe off what is too much after ten minutes.

If the noise stays, have somebody look at the bearings.
"""


def draw(file: Path, seed: int) -> None:
    """Draw some shapes that stand for a photograph."""
    image = Image.new("RGB", (240, 160), (40 * seed, 200, 255 - 40 * seed))
    ImageDraw.Draw(image).ellipse((20 * seed, 30, 20 * seed + 100, 130), fill=(250, 60 * seed, 40))
    image.save(file)


with TemporaryDirectory() as name:
    folder = Path(name)
    for number, picture in enumerate(("pad", "chain", "poles", "peg"), 1):
        draw(folder / f"{picture}.png", number)
    for guide, text in GUIDES.items():
        (folder / guide).write_text(text, encoding="utf-8")

    # Once: chunks with their pictures, and a library that finds them.
    linker = Linker.load()
    chunks = [chunk for guide in GUIDES for chunk in linker.link(folder / guide).chunks(words=30)]
    add_paths(folder / "library", [folder])

    # For each question: the chunks whose pictures fit it, and the answer that a language model makes of their text.
    results = find_images(folder / "library", Query(QUESTION, top=2)).results
    retrieved = [chunk for chunk in chunks if {image.file for image in chunk.images} & {each.file for each in results}]
    print(f"Retrieved: {[' › '.join(chunk.headings) for chunk in retrieved]}\n")

    # The answer gets the pictures that belong to it.
    linked = linker.place(ANSWER, retrieved)
    print(markdown(linked, folder))
    for each in placed(linked).placed:
        print(f"{each.picture} at {each.text!r} ({each.paragraph_confidence:.0%}): {each.why}")
    for left_out in placed(linked).left_out:
        print(f"{left_out.picture} is left out: {left_out.why}")
