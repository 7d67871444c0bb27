"""Put the pictures of a folder into a library and find those that fit a sentence: search_library.py [FOLDER SENTENCE].

Prints

    4 added
    ...levers/seesaw.svg
"""

import sys
from pathlib import Path

from iconotext.library.search import Query, find_images
from iconotext.library.update import add_paths

levers = Path(__file__).with_name("levers"), "Two children balance on a plank"
folder, sentence = sys.argv[1:3] if len(sys.argv) > 2 else levers
report = add_paths(Path("library"), [Path(folder)])
print(report.added, "added")
found = find_images(Path("library"), Query(sentence, top=3, anyway=True))
for result in found.results:
    print(f"{result.score:.2f} {result.image}")
