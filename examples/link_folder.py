"""Link all documents of a folder into one table; what cannot be read is said and left out: link_folder.py [FOLDER].

Prints

    links.parquet: 4 links
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from iconotext import Linker, read_all
from iconotext.read import Failure

folder = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("levers")
rows = []
for linked in Linker.load().link_all(read_all([folder])):
    if isinstance(linked, Failure):
        print(f"{linked.path}: {linked.error}", file=sys.stderr)
        continue
    for link in linked.links:
        rows.append(
            {"document": linked.document.id, "image": link.image, "sentence": link.sentence, "p": link.confidence}
        )
pq.write_table(pa.Table.from_pylist(rows), "links.parquet")
print(f"links.parquet: {len(rows)} links")
