"""``papers build mscoco`` as a user types it."""

from __future__ import annotations

from tests.support import program
from tests.support.coco import coco

run = program.run


def test_build_mscoco(tmp_path):
    source = coco(tmp_path / "coco", 100)
    command = ["papers", "build", "mscoco", "--source", source, "-o", tmp_path / "c.parquet", "--workers", 1]
    result = run(*command)
    assert "34 documents (30 train, 2 validation, 2 test)" in result.stderr
    assert "8,278" in result.stderr
    assert "all images of all annotation files are used" in result.stderr
    run("corpus", "check", tmp_path / "c.parquet")
    result = run(*command, "--force", "--photographs", "some", status=2)
    assert "--photographs" in result.stderr
