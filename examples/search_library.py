"""Put the pictures of a folder into a library and find those that fit a sentence: search_library.py FOLDER SENTENCE."""

import sys
from pathlib import Path

from iconotext.library.search import Query, find_images
from iconotext.library.update import add_paths

if len(sys.argv) != 3:
    sys.exit(__doc__)
report = add_paths(Path("library"), [Path(sys.argv[1])])
print(report.added, "added")
found = find_images(Path("library"), Query(sys.argv[2], top=3, anyway=True))
for result in found.results:
    print(f"{result.score:.2f} {result.image}")
