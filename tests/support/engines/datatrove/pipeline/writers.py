from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path


class JsonlWriter:
    def __init__(self, folder, *, compression):
        self.folder = Path(folder)

    def run(self, data, rank, world_size):
        self.folder.mkdir(exist_ok=True)
        with (self.folder / f"{rank:05}.jsonl").open("w") as file:
            for document in data:
                file.write(json.dumps(asdict(document)) + "\n")
                yield document
