"""The blocks of docs/engines.md run, that of Data-Juicer with a stand-in of its calling convention."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[1]
STAND_INS = ROOT / "tests/support/engines"
CAT = "Our cat sits still."
PAGE = (ROOT / "docs/engines.md").read_text(encoding="utf-8")
BLOCKS = {
    section.partition("\n")[0].removeprefix("# "): block
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)
    for block in re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
}
THEN = {
    "Data-Juicer": f"""
operator = OPERATORS.modules["link_pictures"]("pictures")
samples = {{"text": ["<__dj__image> {CAT} <|__dj__eoc|>", "Nothing."], "images": [["/elsewhere/cat.jpg"], []]}}
linked = operator.process(samples)
assert linked["iconotext_links"][1] == linked["iconotext_problems"][1] == []
print(linked["iconotext_links"][0][0]["sentence"])
""",
    "datatrove": """
import json
from pathlib import Path

row = json.loads(Path("linked/00000.jsonl").read_text())
print(row["metadata"]["iconotext_links"][0]["sentence"])
""",
}
"""What is asked of a block that only defines something, or writes its result."""


@pytest.fixture
def rows(tmp_path, picture):
    """A folder with a table of OBELICS, whose pictures are in its rows, and with pictures."""
    files = [picture(f"pictures/{name}", seed=n).read_bytes() for n, name in enumerate(("cat.jpg", "coffee.jpg"))]
    inside = [{"bytes": file, "path": name} for file, name in zip(files, ("cat.jpg", "coffee.jpg"), strict=True)]
    texts = [CAT, None, "The cup has to be warm.", None]
    table = [
        {"texts": texts, "images": [None, inside[0], None, inside[1]]},
        {"texts": ["No picture."], "images": [None]},
    ]
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "shard.parquet")
    return tmp_path


def test_every_engine_has_a_block():
    assert list(BLOCKS) == [
        "In data engines",
        "Ray Data",
        "The Hugging Face library",
        "Polars",
        "datatrove",
        "Data-Juicer",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("engine", BLOCKS)
def test_the_block_of_an_engine_links(rows, engine):
    code = f"import sys\nsys.path.append({str(STAND_INS)!r})\n{BLOCKS[engine]}{THEN.get(engine, '')}"
    (rows / "block.py").write_text(code)
    usage = {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1", "HF_HOME": str(rows / "hf")}
    done = subprocess.run(
        [sys.executable, "block.py"], cwd=rows, env={**os.environ, **usage}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert CAT in done.stdout
    if engine == "Polars":  # whose result has the types of the page
        first, second = pq.read_table(rows / "linked.parquet").to_pylist()
        assert {frozenset(link) for link in first["iconotext_links"]} == {
            frozenset(("image", "text", "sentence", "confidence", "paragraph_confidence"))
        }
        assert first["iconotext_problems"] == second["iconotext_links"] == []
