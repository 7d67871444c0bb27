"""The table of outputs, and outputs of other packages."""

from __future__ import annotations

import pytest

from iconotext import save
from iconotext.errors import OutputError, SettingError
from iconotext.report.outputs import OUTPUTS, output_named, outputs
from tests.support import program


@pytest.mark.parametrize("suffix", ["html", "json", "jsonl", "md", "parquet", "HTML"])
def test_save_writes_what_the_suffix_says(linked, tmp_path, suffix):
    save(linked, tmp_path / f"a.{suffix}")
    assert (tmp_path / f"a.{suffix}").stat().st_size > 300
    if suffix.lower() == "html":  # a page of ours is brought up to date, unless somebody changed it
        save(linked, tmp_path / f"a.{suffix}")
        with (tmp_path / f"a.{suffix}").open("a") as page:
            page.write("<!-- mine -->")
    with pytest.raises(OutputError, match="the option force"):
        save(linked, tmp_path / f"a.{suffix}")


def test_an_unknown_suffix_is_an_error_that_names_the_others(linked, tmp_path):
    with pytest.raises(OutputError, match=r"ends in \.html.* \.parquet"):
        save(linked, tmp_path / "a.docx")


def counts(documents, folder):
    for linked in documents:
        yield f"{linked.document.id} in {folder.name}: {len(linked.links)}\n"


@pytest.fixture
def other_package(install_package):
    """A package with an output ``counts``, which is text, for files that end in ``.counts``."""
    code = (
        "from iconotext.report.outputs import Output\n"
        f"OUTPUT = Output('counts', ('.counts',), 'Numbers of links.', text='{__name__}:counts')\n"
    )
    install_package("with_counts", code, "iconotext.outputs", counts="with_counts:OUTPUT")


@pytest.mark.usefixtures("other_package")
def test_another_package_adds_an_output(linked, tmp_path, picture):
    assert output_named("counts") is outputs()[-1]
    save(linked, tmp_path / "a.counts")
    assert (tmp_path / "a.counts").read_text() == f"doc in {tmp_path.name}: 3\n"
    picture("cat.png")
    (tmp_path / "cats.md").write_text("A cat.\n\n![](cat.png)\n")
    command = ["link", tmp_path / "cats.md", "--evidence", "layout", "--relations", "none", "--to", "counts"]
    assert program.run(*command).stdout == "cats in : 1\n"
    program.run(*command, "--output", tmp_path / "b.counts")
    assert (tmp_path / "b.counts").read_text() == f"cats in {tmp_path.name}: 1\n"


def test_an_output_that_is_no_text_needs_a_file(linked, tmp_path):
    with pytest.raises(OutputError, match="parquet is no text"):
        output_named("parquet").text_parts([linked], tmp_path)
    with pytest.raises(SettingError, match="nothing: not a format of links; there are html, json, "):
        output_named("nothing")
    assert [output_named(output.name) for output in OUTPUTS] == list(OUTPUTS)
    assert "not a format of links; there are html" in program.run("link", "a.md", "--to", "nothing", status=2).output
