"""Link rows of a text and pictures, as data engines hand them over (docs/engines.md).

Prints

    seesaw.svg: Two children sit on a seesaw.
    barrow.svg: A wheelbarrow carries sand.
"""

from pathlib import Path

import iconotext

rows = [
    {
        "text": "Two children sit on a seesaw.\n\n<image>\n\nA wheelbarrow carries sand.\n\n<image>",
        "images": ["seesaw.svg", "barrow.svg"],
    }
]
for row in iconotext.link_rows(rows, pictures=Path(__file__).with_name("levers")):
    best = {link["image"]: link["sentence"] for link in reversed(row["iconotext_links"])}
    for number, sentence in sorted(best.items()):
        print(f"{row['images'][number]}: {sentence}")
