"""Link the pictures of a document, print the surest sentence of each, and write the page: link_article.py [FILE].

Prints

    seesaw.svg: Two children sit on a seesaw, as Figure 4.5 shows. (...
    linked.html
"""

import sys
from pathlib import Path

from iconotext import Linker, save

path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("levers") / "levers.md"
linked = Linker.load().link(path)
for number, image in enumerate(linked.document.images):
    links = [link for link in linked.links if link.image == number]
    for link in sorted(links, key=lambda link: -link.confidence)[:1]:
        print(f"{image.source}: {linked.document.sentences[link.sentence].text} ({link.confidence:.0%})")
save(linked, "linked.html")
print("linked.html")
