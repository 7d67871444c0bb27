"""How long the server takes to look at the files that it follows, and so how soon it sees a change.

python benchmarks/serve_follow.py [DOCUMENTS] [PICTURES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from iconotext.serve.follow import FOLDER_PAUSE, PAUSE, SHARE, Followed
from iconotext.serve.sources import documents_in, files_now
from iconotext.serve.store import Store


def main(documents: int, pictures: int) -> None:
    """Print both times, for so many documents with so many pictures each, in folders of a hundred."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        for number in range(documents):
            folder = root / str(number // 100)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.md").write_text(f"# {number}\n")
            for picture in range(pictures):
                (folder / f"{number}-{picture}.png").write_bytes(b"x")
        store = Store(Path(name) / "store.sqlite")
        followed = Followed(store)
        collection = store.add_collection("many", root, own=False).id
        store.set_documents(collection, documents_in(str(root), str(root), documents), "", None, None)
        for entry in store.entries(collection):
            store.set_failed(entry.id, 0, "")
            files = [entry.path, *(f"{entry.path.removesuffix('.md')}-{n}.png" for n in range(pictures))]
            followed.set_files(entry.id, files_now(files))

        def look() -> None:
            for files in followed.all(collection).values():
                assert files_now(file.path for file in files) == files

        print(f"{documents:,} documents, {documents * pictures:,} pictures")
        _tell("files", look, PAUSE)
        _tell("folders", lambda: documents_in(str(root), str(root), documents), FOLDER_PAUSE)
        store.close()


def _tell(what: str, look: Callable[[], object], pause: float) -> None:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        look()
        times.append(time.perf_counter() - begin)
    took = sorted(times)[2]
    print(f"{what}: a look takes {took:.3f} s, the next one comes {max(pause, SHARE * took):.1f} s later")


if __name__ == "__main__":
    main(*map(int, (sys.argv[1:] + ["2000", "5"][len(sys.argv) - 1 :])))
