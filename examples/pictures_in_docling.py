"""Links in a document of docling: pictures_in_docling.py [GIVEN.json LINKED.json].

Prints

    #/pictures/0 ['Somebody draws a disc in red.']
    linked.json
"""

import sys
from pathlib import Path

from docling_core.types.doc import DocItemLabel, DoclingDocument, ImageRef
from PIL import Image as Pillow
from shapes import write_shapes

from iconotext import Linker
from iconotext.adapters.docling import add_links, document

if len(sys.argv) > 2:
    path, output = map(Path, sys.argv[1:3])
    given = DoclingDocument.load_from_json(path)
else:
    path, output = write_shapes(Path("shapes")).with_name("given.json"), Path("linked.json")
    given = DoclingDocument(name="drawings")
    for shape, colour in (("disc", "red"), ("square", "blue")):
        given.add_text(DocItemLabel.TEXT, f"Somebody draws a {shape} in {colour}.")
        caption = given.add_text(DocItemLabel.CAPTION, f"a {colour} {shape}")
        drawn = Pillow.open(path.with_name(f"{colour}-{shape}.png"))
        given.add_picture(image=ImageRef.from_pil(drawn, dpi=72), caption=caption)
add_links(given, Linker.load().link(document(given, path)))
for picture in given.pictures:
    print(picture.self_ref, [reference.resolve(given).text for reference in picture.references])
given.save_as_json(output)
print(output)
