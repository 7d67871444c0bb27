"""How well pictures are found by their names in other languages: the same pictures, asked for in each language.

    apt-get download tuxpaint-stamps-default && dpkg -x tuxpaint-stamps-default_*.deb STAMPS
    python benchmarks/search_languages.py STAMPS [--models default photographs]

The pictures are Debian's ``tuxpaint-stamps-default``: photographs and drawings, each with its name in up to 59
languages (GPL-2; nothing of it is in the project, and nothing was fitted on it). Each name is a question by itself, and
the picture that has it is the answer. Pictures of the alphabet and of numbers are left out: their names are letters.
In percent, how often the picture is among the first ten, by the picture alone, with 95 % intervals from 2,000
resamplings of the pictures; and that as a share of the figure for English on the same pictures.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

from iconotext.encoders.load import load_encoder
from iconotext.evaluate.statistics import bootstrap_intervals
from iconotext.features import load_text_backbone

FIRST, LEAST = 10, 300  # pictures that are looked at; names that a language must have


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stamps", type=Path)
    parser.add_argument("--models", nargs="+", default=["default", "photographs"])
    given = parser.parse_args()
    pictures, names = stamps(given.stamps)
    text = load_text_backbone()
    print(f"{len(pictures)} pictures\n\n| language | known | names | {' | '.join(given.models)} |")
    print(f"|---|---|---|{'---|' * len(given.models)}")
    hits = {}
    for model in given.models:
        encoder = load_encoder(model)
        images = encoder.encode_images(pictures).vectors
        for language, of_picture in names.items():
            numbers = np.array(list(of_picture))
            cosines = encoder.encode_sentences(list(of_picture.values())) @ images.T
            better = cosines > cosines[np.arange(len(numbers)), numbers][:, None]
            hits[model, language] = dict(zip(numbers.tolist(), better.sum(1) < FIRST, strict=True))
    for language, of_picture in names.items():
        cells = [cell(hits[model, language], hits[model, "en"]) for model in given.models]
        print(f"| {language} | {'yes' if text.knows(language) else 'no'} | {len(of_picture)} | {' | '.join(cells)} |")


def stamps(folder: Path) -> tuple[list[Path], dict[str, dict[int, str]]]:
    """The pictures; and for each language the number of a picture to its name."""
    pictures: list[Path] = []
    names: dict[str, dict[int, str]] = defaultdict(dict)
    for path in sorted(folder.rglob("stamps/**/*.txt")):
        picture = path.with_suffix(".png")
        if not picture.is_file() or "alphabets" in picture.parts:
            continue
        english, *others = path.read_text(encoding="utf-8", errors="replace").splitlines()
        names["en"][len(pictures)] = english
        for line in others:
            if match := re.fullmatch(r"([a-z]{2})\.utf8=(.+)", line):
                names[match[1]][len(pictures)] = match[2]
        pictures.append(picture)
    return pictures, {language: found for language, found in sorted(names.items()) if len(found) >= LEAST}


def cell(found: dict[int, bool], english: dict[int, bool]) -> str:
    values = np.array(list(found.values()), np.float64)[:, None]
    ((low, high),) = 100 * bootstrap_intervals(values, np.ones_like(values))
    share = values.sum() / max(sum(english[number] for number in found), 1)
    return f"{100 * values.mean():.1f} ({low:.1f}–{high:.1f}), {100 * share:.0f} %"


if __name__ == "__main__":
    main()
