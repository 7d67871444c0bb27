from __future__ import annotations

from tests.support import program


def test_demo_writes_and_links_an_article(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "article.md").write_text("My own.")
    assert "the option force" in program.run("demo", folder, status=1).output
    assert (folder / "article.md").read_text() == "My own."
    done = program.run("demo", folder, "--force")
    assert (folder / "linked" / "article.html").stat().st_size > 100_000
    assert "pictures/cat.jpg" in done.stdout
