"""The server as its users have it: a process of its own, asked by the real client over stdio."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from iconotext.errors import OutsideError

pytest.importorskip("mcp", reason="mcp is not installed")

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from iconotext.mcp_server import Served, server

ARTICLE = "# Trams\n\nA red tram waits at the stop. Figure 1 shows it.\n\n![A red tram](one.png)\n*Figure 1: A tram.*\n"


@pytest.fixture
def root(tmp_path, picture) -> Path:
    """A folder with an article, and beside it what nobody may read."""
    picture("served/one.png", seed=1)
    picture("secret.png", seed=2)
    folder = tmp_path / "served"
    (folder / "article.md").write_text(ARTICLE)
    (tmp_path / "secret.md").write_text("The password is tram.\n\n![p](secret.png)\n")
    (folder / "curious.md").write_text("A tram.\n\n![a](../secret.png)\n\n![b](" + str(tmp_path / "secret.png") + ")\n")
    (folder / "sub").mkdir()
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "up").symlink_to(tmp_path)
    return folder


def run_apart(main: Callable[[], Awaitable[None]]) -> None:
    """Run in a thread of its own: in this one, a browser of other tests may keep an event loop running."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, main).result()


def asked(root: Path, questions: Callable[[Client], Awaitable[None]]) -> str:
    """What the server printed on stderr while a client asked it."""
    env = {name: value for name, value in os.environ.items() if name.startswith(("ICONOTEXT", "PYTHON", "OMP", "COV"))}
    started = StdioServerParameters(command=sys.executable, args=["-m", "iconotext", "mcp", str(root)], env=env)
    log = root.parent / "log"

    async def main() -> None:
        with log.open("w") as errors:
            async with Client(stdio_client(started, errlog=errors)) as client:
                await questions(client)

    run_apart(main)
    return log.read_text()


@pytest.mark.slow
def test_a_client_asks(root):
    answers: dict[str, Any] = {}

    async def questions(client: Client) -> None:
        answers["tools"] = {tool.name: tool for tool in (await client.list_tools()).tools}
        answers["name"] = client.server_info.name
        for name, tool, arguments in (
            ("link", "link", {"path": "article.md"}),
            ("context", "context", {"path": "article.md", "words": 20, "picture": 0}),
            ("curious", "link", {"path": "curious.md"}),
            ("up", "link", {"path": "../secret.md"}),
            ("absolute", "link", {"path": str(root.parent / "secret.md")}),
            ("symlink", "link", {"path": "link.md"}),
            ("through", "context", {"path": "up/secret.md"}),
            ("missing", "link", {"path": "nothing.md"}),
            ("folder", "link", {"path": "."}),
            ("number", "context", {"path": "article.md", "picture": 7}),
            ("words", "context", {"path": "article.md", "words": 0}),
            ("library", "search", {"library": "sub", "sentence": "a tram"}),
            ("library up", "search", {"library": "..", "sentence": "a tram"}),
            ("place", "place", {"text": "Nothing runs today.\n\nThe *tram* waits.\n", "pictures": ["article.md"]}),
            ("place up", "place", {"text": "A tram.", "pictures": ["../secret.png"]}),
            ("place everything", "place", {"text": "A tram.", "pictures": ["."]}),
        ):
            answers[name] = await client.call_tool(tool, arguments)

    log = asked(root, questions)
    assert log == ""
    assert (set(answers["tools"]), answers["name"]) == ({"link", "context", "search", "place"}, "iconotext")
    assert "path" in answers["tools"]["link"].input_schema["required"]
    (picture,) = answers["link"].structured_content["pictures"]
    assert (picture["file"], picture["caption"]) == ("one.png", "Figure 1: A tram.")
    assert picture["sentences"][0]["text"] in ("Figure 1 shows it.", "A red tram waits at the stop.")
    (found,) = answers["context"].structured_content["contexts"]
    assert (found["headings"], found["file"]) == (["Trams"], "one.png")
    assert found["text"] == "Figure 1 shows it."
    assert not answers["link"].is_error
    curious = answers["curious"].structured_content["pictures"]
    assert [each["file"] for each in curious] == [None, None]
    assert all(each["problem"] for each in curious)
    placed = answers["place"].structured_content
    assert placed["markdown"] == (
        "Nothing runs today.\n\nThe *tram* waits.\n\n![A red tram](<one.png>)\\\n*Figure 1: A tram.*\n"
    )
    assert [(each["file"], each["text"]) for each in placed["placed"]] == [("one.png", "The tram waits.")]
    for name, said in {
        "place up": "'..' may lead out",
        "place everything": "goes through a link",
        "up": "'..' may lead out",
        "absolute": "relative to the folder",
        "symlink": "goes through a link",
        "through": "goes through a link",
        "missing": "nothing.md",
        "folder": "its documents are: article.md, curious.md",
        "number": "no such image: 7",
        "words": "greater than or equal to 1",
        "library": "sub: not a library",
        "library up": "'..' may lead out",
    }.items():
        assert answers[name].is_error, name
        assert said in answers[name].content[0].text, name
        assert "password" not in answers[name].content[0].text
        assert str(root) not in answers[name].content[0].text.replace(str(root.parent / "secret.md"), "")


@pytest.mark.slow
def test_a_library_is_searched_where_it_and_its_models_are_inside(root, picture):
    pytest.importorskip("lancedb", reason="lancedb is not installed")
    from typer.testing import CliRunner

    from iconotext.cli.app import app

    made = CliRunner().invoke(app, ["library", "add", str(root / "lib"), str(root / "article.md")])
    assert made.exit_code == 0, made.output
    answers: list[Any] = []
    settings = root / "lib" / "library.json"
    kept = settings.read_text()

    async def questions(client: Client) -> None:
        asks = {"library": "lib", "sentence": "a red tram", "top": 3}
        answers.append(await client.call_tool("search", asks))
        answers.append(await client.call_tool("search", asks | {"relation": "no-such"}))
        settings.write_text(kept.replace('"model": "default"', '"model": "/etc"'))
        answers.append(await client.call_tool("search", asks))
        settings.write_text(kept)
        (root / "lib" / "more").symlink_to("/etc")
        answers.append(await client.call_tool("search", asks))

    assert asked(root, questions) == ""
    found, relation, model, linked = answers
    assert found.structured_content["results"][0]["image"] == "one.png"
    assert found.structured_content["results"][0]["document"] == "article.md"
    assert [each.is_error for each in (relation, model, linked)] == [True] * 3
    assert "model /etc, which is outside" in model.content[0].text
    assert "goes through a link" in linked.content[0].text


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../a.md", "sub/../../a.md", "C:\\a.md", "..\\a.md", "link.md", "up/secret.md", "a\x00b", "//a/b"],
)
def test_paths_that_may_lead_out(root, path):
    with pytest.raises(OutsideError):
        Served(root).inside(path)


def test_paths_inside(root):
    served = Served(root)
    assert served.inside("sub/./new.md") == root.resolve() / "sub" / "new.md"
    assert served.inside(".") == root.resolve()
    assert served.name(Path("/elsewhere/a.png")) == "/elsewhere/a.png"
    assert served.name(root / "\udcff.png") == "\ufffd.png"


def test_a_fault_of_ours_is_told_without_its_details(root, monkeypatch):
    monkeypatch.setattr(Served, "linked", lambda self, path: 1 / 0)

    answers: list[Any] = []

    async def main() -> None:
        async with Client(server(Served(root))) as client:
            answers.append(await client.call_tool("link", {"path": "article.md"}))

    run_apart(main)
    (answer,) = answers
    assert answer.is_error
    assert answer.content[0].text == "Error executing tool link"
