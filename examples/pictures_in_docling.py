"""Links in a document of docling: pictures_in_docling.py GIVEN.json LINKED.json."""

import sys
from pathlib import Path

from docling_core.types.doc import DoclingDocument

from iconotext import Linker
from iconotext.adapters.docling import add_links, document

if len(sys.argv) != 3:
    sys.exit(__doc__)
path = Path(sys.argv[1])
given = DoclingDocument.load_from_json(path)
add_links(given, Linker.load().link(document(given, path)))
for picture in given.pictures:
    print(picture.self_ref, [reference.resolve(given).text for reference in picture.references])
given.save_as_json(sys.argv[2])
