"""README shows what a plain install prints: its first blocks are compared with the output of the commands in them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from iconotext import Linker
from iconotext.demo import write_demo
from iconotext.report.terminal import links_table
from tests.support import program

ROOT = Path(__file__).parents[1]
WIDTH = 92
"""Columns of the terminal that README shows."""


def block_of(command: str, guide: str = "README.md") -> list[str]:
    """The lines that a guide shows below a command."""
    text = (ROOT / guide).read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```console\n\$ {re.escape(command)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(block).splitlines()


def words_and_confidences(line: str) -> tuple[str, list[int]]:
    """A line without its bar, and its confidences, which depend in their last digit on the processor."""
    confidences = re.search(r"[━─]+(\s+>?\d+\s%)+\s*$", line)
    if confidences is None:
        return " ".join(line.split()), []
    return " ".join(line[: confidences.start()].split()), [int(number) for number in re.findall(r"\d+", confidences[0])]


def assert_shown(block: list[str], printed: list[str]) -> None:
    """Each line of a block is printed, in this order; ``...`` stands for others."""
    lines = map(words_and_confidences, printed)
    for words, confidences in map(words_and_confidences, block):
        if words != "...":
            assert any(words == found and numbers == pytest.approx(confidences, abs=1) for found, numbers in lines), (
                words
            )


@pytest.fixture(scope="module")
def article(tmp_path_factory):
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.mark.slow
def test_the_links_that_readme_shows(article, monkeypatch):
    monkeypatch.chdir(article.parent)
    shown = io.StringIO()
    Console(file=shown, width=WIDTH).print(links_table(Linker.load().link("article.md")))
    (*table, last) = block_of("iconotext link article.md")
    assert_shown(table, shown.getvalue().splitlines())
    assert block_of("iconotext link article.md", "docs/link.md") == [*table, last]
    for _ in range(2):  # the second run changes no page, and prints the sentences again
        done = program.run("link", "article.md")
        assert last in done.stderr
        assert "What she calls her lawn is nothing of the sort." in done.stdout
    assert "1 of 1 document unchanged" in done.stderr


@pytest.mark.slow
def test_the_faults_that_readme_shows(article, monkeypatch):
    monkeypatch.chdir(article.parent)
    assert_shown(
        block_of("iconotext check article.md"), program.run("check", "article.md", status=1).stdout.splitlines()
    )
