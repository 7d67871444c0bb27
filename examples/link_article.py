"""Link the pictures of a document, print the surest sentence of each, and write the page: link_article.py FILE."""

import sys

from iconotext import Linker, save

if len(sys.argv) != 2:
    sys.exit(__doc__)
linked = Linker.load().link(sys.argv[1])
for number, image in enumerate(linked.document.images):
    links = [link for link in linked.links if link.image == number]
    for link in sorted(links, key=lambda link: -link.confidence)[:1]:
        print(f"{image.source}: {linked.document.sentences[link.sentence].text} ({link.confidence:.0%})")
save(linked, "linked.html")
