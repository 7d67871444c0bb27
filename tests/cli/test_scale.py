from __future__ import annotations

import json

import pytest

from tests.support import program
from tests.support.shards import png, row, write_jsonl, write_tar

run = program.run


@pytest.mark.slow
def test_a_shard_without_its_tar_is_named_at_the_end(tmp_path):
    for name in ("0", "1"):
        write_jsonl(tmp_path / "shards" / f"{name}.jsonl", [row(n, [f"{n}.png", "a.png"]) for n in range(2)])
    write_tar(tmp_path / "shards" / "0.tar", {"0.png": png(0)})  # three of its four are not there
    command = ("scale", "duplicates", tmp_path / "shards", "-o", tmp_path / "hashes", "--workers", 1)
    told = run(*command).stderr.splitlines()
    assert told[-4] == "iconotext: 1: 4 pictures, none found"
    assert told[-3].startswith("iconotext: 1 shard without any picture: is a tar or folder missing beside it?")
    assert json.loads(run(*command, "--json").stdout)["pictureless"] == {"1": 4}
