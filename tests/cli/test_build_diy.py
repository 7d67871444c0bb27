"""``iconotext corpus build diy`` from the command line."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from PIL import Image as Pillow

from tests.support import program


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "reddit"
    (folder / "albums").mkdir(parents=True)
    (folder / "images").mkdir()
    lines = []
    for number in range(4):
        lines.append(
            json.dumps(
                {
                    "id": f"p{number}",
                    "subreddit": "DIY",
                    "score": 20 + 5 * number,
                    "url": f"https://imgur.com/a/Alb{number}",
                    "created_utc": 1357000000,
                }
            )
        )
        divs = ""
        for picture in range(2):
            name = f"Pict{number}{picture}"
            divs += (
                f'<div id="{name}" class="post-image-container"><p class="post-image-description">'
                f"Caption {picture} has five words.</p></div>"
            )
            noise = np.random.default_rng([number, picture]).integers(0, 256, (8, 8, 3), np.uint8)
            Pillow.fromarray(noise).resize((64, 64)).save(folder / "images" / f"{name}.png")
        (folder / "albums" / f"Alb{number}.html").write_text(f"<html><body>{divs}</body></html>")
    (folder / "RS_2013-01.jsonl").write_text("\n".join(lines) + "\n")
    return folder


run = partial(program.run, "corpus", "build", "diy")


def test_writes_corpus_and_report_and_compares(source, tmp_path):
    output = tmp_path / "diy.jsonl"
    result = run("--source", source, "--output", output, "--workers", 1)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["Alb1", "Alb2", "Alb3"]
    assert rows[0]["links"] == [[0, 0], [1, 1]]
    assert "about 241,000" in result.output
    assert "score below 25" in result.output
    report = json.loads((tmp_path / "diy.report.json").read_text())
    assert report["counts"][0] == {
        "what": "posts to r/DIY",
        "found": 4,
        "published": 241000,
        "rounded_to": 1000,
        "fits": False,
    }


def test_settings_and_errors(source, tmp_path):
    output = tmp_path / "diy.jsonl"
    run("-s", source, "-o", output, "--workers", 1, "--min-score", "0")
    assert len(output.read_text().splitlines()) == 4
    again = run("-s", source, "-o", output, "--workers", 1, status=1)
    assert "--force" in again.output
    wrong = run("-s", source, "-o", output, "--force", "--first", "2013", status=2)
    assert "first" in wrong.output
    (source / "RS_2013-01.jsonl").unlink()
    missing = run("-s", source, "-o", output, "--force", status=1)
    assert "RS_2013-01.zst" in missing.output
    assert len(missing.output.strip().splitlines()) == 1
