"""How fast Markdown and HTML are read, on one core.

    python benchmarks/reading.py

Pages of 50 sentences in 10 sections with links, emphasis, a list and 3 pictures each, made for the purpose.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

from PIL import Image

from iconotext import read

WORDS = "the baker kneads a soft dough of flour and water with salt while the trams pass by her window in the street"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(3):
            Image.new("RGB", (90, 90), (number * 80, 90, 120)).save(folder / f"{number}.png")
        rates = {suffix: pages_a_second(folder, suffix, arguments.pages) for suffix in (".md", ".html")}
    for suffix, rate in rates.items():
        print(f"{suffix:6} {rate:6.0f} pages of 50 sentences a CPU second")


def pages_a_second(folder: Path, suffix: str, pages: int) -> float:
    """Pages that are read in a second of CPU time, pictures' headers and contents checked."""
    chance = random.Random(0)
    for number in range(pages):
        text = markdown(chance)
        if suffix == ".html":
            from markdown_it import MarkdownIt

            body = f"<nav><a href='/'>Home</a></nav><main>{MarkdownIt().render(text)}</main>"
            text = f"<html lang='en'><body>{body}</body></html>"
        (folder / f"{number}{suffix}").write_text(text, encoding="utf-8")
    assert len(read(folder / f"0{suffix}").sentences) == 60  # 50 sentences and 10 headings
    start = time.process_time()
    for number in range(pages):
        read(folder / f"{number}{suffix}")
    return pages / (time.process_time() - start)


def markdown(chance: random.Random) -> str:
    """A page of 10 sections of 5 sentences."""
    parts = []
    for section in range(10):
        sentences = [" ".join(chance.choices(WORDS.split(), k=14)).capitalize() + " today." for _ in range(5)]
        sentences[1] = sentences[1].replace("a", "*a*", 1)
        sentences[2] = f"[A link](http://page.example) and {sentences[2][0].lower()}{sentences[2][1:]}"
        parts.append(f"## Section {section}\n\n" + "\n".join(sentences[:3]) + "\n\n- " + "\n- ".join(sentences[3:]))
        if section % 4 == 1:
            parts.append(f"![A picture]({section // 4}.png)\n*Its caption.*")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
