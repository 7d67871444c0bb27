"""``iconotext alt-text draft``: a vision model's drafts, drafts of a file, and what the command says and writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from iconotext.alt_text.drafts import Draft, row
from iconotext.alt_text.writing import digest
from tests.support import program
from tests.support.captioner import completion, failure, serving
from tests.support.server import wait_for

run = partial(program.run, "alt-text", "draft")

TEXT = "A grid of grey and coloured dots, seen from close by"


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def asks(server):
    return ["--captioner", server.url, "--captioner-model", "seer"]


def write_article(tmp_path, picture, number=2):
    parts = ["# Trams\n\nTrams run in the town, and nobody counts them.\n"]
    for n in range(number):
        picture(f"p{n}.png", seed=n)
        parts.append(f"The tram of line {n} waits at the stop.\n\n![](p{n}.png)\n\n*Figure {n + 1}: Line {n}.*\n")
    path = tmp_path / "article.md"
    path.write_text("\n".join(parts))
    return path


@pytest.fixture
def article(tmp_path, picture):
    return write_article(tmp_path, picture)


def test_drafts_are_shown_beside_their_evidence_printed_and_written(article, server, asks):
    server.say = lambda asked, number: completion(f"{TEXT}, number {asked.context['caption'][-2]}")
    before = article.read_text()
    shown = run(article, *asks)
    for text in (f"{TEXT}, number 0", "caption: Figure 1: Line 0.", "beside: The tram of line 0 waits at the stop."):
        assert text in shown.stdout
    assert "2 pictures sent to 127.0.0.1, 2,000 tokens; 2 drafts" in shown.stderr
    printed = run(article, *asks, "--json")
    drafts = json.loads(printed.stdout)
    assert [(draft["text"][-1], draft["model"], draft["caption"]) for draft in drafts] == [
        ("0", "seer", "Figure 1: Line 0."),
        ("1", "seer", "Figure 2: Line 1."),
    ]
    assert "0 pictures sent to 127.0.0.1, 0 tokens; 2 had a reply from before; 2 drafts" in printed.stderr
    assert article.read_text() == before
    assert "--yes writes without asking" in run(article, *asks, "--write", status=1).stderr
    run(article, *asks, "--write", "--yes")
    assert article.read_text().count(TEXT) == 2
    assert len(server.asked) == 2


def drafts_file(article, **changes):
    draft = Draft("article:0", str(article), digest(article.read_bytes()), 0, "p0.png", TEXT, True, 0.9, ())
    path = article.with_name("drafts.json")
    path.write_text(json.dumps([row(draft) | changes]))
    return path


def test_drafts_changed_by_hand_are_written(article):
    before, drafts = article.read_text(), drafts_file(article, text="A tram, red as it should be [really]")
    run("--write", "--from", drafts, "--yes", "--quiet")
    assert article.read_text() == before.replace("![](p0.png)", r"![A tram, red as it should be \[really\]](p0.png)")
    assert "has changed since it was read" in run("--write", "--from", drafts, "--yes", status=1).stderr


def test_a_no_writes_nothing(article, monkeypatch):
    before, drafts = article.read_text(), drafts_file(article)
    monkeypatch.setattr("iconotext.cli.alt_text.has_terminal", lambda: True)
    result = run("--write", "--from", drafts, input="n\n")
    assert "Write 1 alternative text into" in result.stderr
    assert article.read_text() == before
    run("--write", "--from", drafts, input="y\n")
    assert f"![{TEXT}](p0.png)" in article.read_text()


@pytest.mark.slow
def test_prompts_are_printed_as_they_are_sent(article, server, asks, tmp_path):
    printed = [json.loads(line) for line in program.run("context", article, "--prompt").stdout.splitlines()]
    assert server.asked == []
    assert [(row["id"], row["source"]) for row in printed] == [("article:0", "p0.png"), ("article:1", "p1.png")]
    assert [row["file"] for row in printed] == [str(article.with_name(f"p{n}.png")) for n in range(2)]
    run(article, *asks)
    sent = sorted((asked.body["messages"] for asked in server.asked), key=str)  # they come in any order
    assert sent == sorted((row["messages"] for row in printed), key=str)
    file = tmp_path / "prompts.jsonl"
    written = program.run("context", article, "--prompt", "--words", 5, "--output", file)
    assert "prompts.jsonl: 2 prompts of 1 document" in written.stderr
    assert len(file.read_text().splitlines()) == 2
    for wrong in (["--json"], ["--output", tmp_path / "p.parquet"], ["--output", tmp_path]):
        assert "--prompt gives JSON lines" in program.run("context", article, "--prompt", *wrong, status=1).stderr


@pytest.mark.slow
def test_replies_that_are_no_alternative_text_are_named_and_not_written(article, server, asks):
    server.say = lambda asked, number: completion(asked.context["caption"])
    before = article.read_text()
    result = run(article, *asks, "--write", "--yes")
    assert "no draft for article:0 (p0.png): the alternative text says the caption again" in result.stderr
    assert 'the model said "Figure 2: Line 1."' in result.stderr
    assert article.read_text() == before
    server.say = lambda asked, number: failure(400, "no images here")
    result = run(article, *asks[:3], "blind", "--quiet", "--json")
    assert json.loads(result.stdout) == []
    assert "no draft for 2 pictures (article:0, article:1): it answered 400: no images here" in result.stderr


@pytest.mark.slow
def test_limits_are_said_and_the_next_run_goes_on(article, server, asks, monkeypatch):
    monkeypatch.setattr("iconotext.cli.alt_text.EVERY", 0.0)
    result = run(article, *asks, "--max-pictures", 1, "--json")
    assert "Asking: 1 picture sent, 1,000 tokens" in result.stderr
    assert [draft["id"] for draft in json.loads(result.stdout)] == ["article:0"]
    assert (
        "no draft for 1 picture (article:1): the limit of 1 picture is reached, and the same command" in result.stderr
    )
    assert len(json.loads(run(article, *asks, "--max-pictures", 1, "--json").stdout)) == 2
    assert len(server.asked) == 2


@pytest.mark.slow
def test_another_machine_is_refused_before_anything_is_read_and_named_where_it_is_allowed(article, monkeypatch):
    remote = ["--captioner", "http://vision.example/v1", "--captioner-model", "seer"]
    tried = []

    def unknown(*given, **_):
        tried.append(given)
        raise OSError("unknown")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    result = run(article, *remote, status=1)
    assert "vision.example is another machine: pictures and text would leave this one" in result.stderr
    assert tried == []
    result = run(article, *remote, "--allow-remote", "--quiet", status=1)
    assert "pictures, captions and the sentences about them go to vision.example, unencrypted" in result.stderr
    assert "the name vision.example cannot be looked up" in result.stderr
    assert {given[0] for given in tried} == {"vision.example"}


@pytest.mark.slow
def test_nothing_is_sent_without_the_option(article, server, tmp_path, monkeypatch):
    monkeypatch.setenv("ICONOTEXT_CAPTIONER_KEY", "sk-1")
    run(article, status=1)
    assert server.asked == []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iconotext.toml").write_text(
        f'[alt-text.draft]\ncaptioner = "{server.url}"\ncaptioner-model = "seer"\nallow-remote = true\n'
    )
    assert "iconotext.toml" in run(article, status=1).stderr  # a project's file, which came with the documents
    assert server.asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the documents"),
        (["a.md"], "--captioner URL --captioner-model NAME"),
        (["a.md"], "iconotext context --prompt"),
        (["a.md", "--json", "--write"], "take one after the other"),
        (["--from", "drafts.json"], "no PATH"),
        (["a.md", "--write", "--from", "drafts.json"], "no PATH"),
        (["a.md", "--captioner-model", "seer"], "--captioner-model is for --captioner URL"),
        (["a.md", "--max-pictures", 5], "--max-pictures is for --captioner URL"),
        (["a.md", "--allow-remote"], "--allow-remote is for --captioner URL"),
        (["a.md", "--captioner", "http://127.0.0.1:9"], "give both"),
        (["a.md", "--captioner", "127.0.0.1:9", "--captioner-model", "m"], "--captioner: give an address such as"),
        (["a.md", "--captioner", "http://u:p@127.0.0.1", "--captioner-model", "m"], "ICONOTEXT_CAPTIONER_KEY"),
        (["a.md", "--captioner", "http://127.0.0.1:9", "--captioner-model", "m", "--epub", "chapters"], "as a whole"),
    ],
)
def test_what_does_not_go_together(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.md", "drafts.json"):
        (tmp_path / name).write_text("Text.\n")
    assert message in run(*arguments, status=None).stderr


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system cannot kill so")
def test_killed_it_goes_on_from_the_replies_that_came(tmp_path, picture, server, asks):
    article, gate = write_article(tmp_path, picture, 6), threading.Event()
    cache = tmp_path / "cache"

    def say(asked, number):
        if number >= 3:
            gate.wait(120)
        return completion(f"{TEXT}, number {asked.context['caption'][-2]}")

    server.say = say
    command = [sys.executable, "-m", "iconotext", "alt-text", "draft", str(article), *asks, "--json"]
    environment = {**os.environ, "ICONOTEXT_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: len(list((cache / "captioner").glob("*.json"))) == 3 and len(server.asked) == 6)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    gate.set()
    answered = [asked.context["caption"] for asked in server.asked[:3]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)) == 6
    assert "3 pictures sent to 127.0.0.1, 3,000 tokens; 3 had a reply from before; 6 drafts" in done.stderr
    again = [asked.context["caption"] for asked in server.asked[6:]]
    assert sorted(answered + again) == sorted({asked.context["caption"] for asked in server.asked})


@pytest.mark.slow
def test_file_names_and_placeholders_are_replaced_where_it_is_asked_for(article, server, asks):
    server.say = lambda asked, number: completion(f"{TEXT}, number {asked.context['caption'][-2]}")
    before = (
        article.read_text().replace("![](p0.png)", "![p0.png](p0.png)").replace("![](p1.png)", "![Picture](p1.png)")
    )
    article.write_text(before)
    assert json.loads(run(article, *asks, "--json").stdout) == []
    assert server.asked == []
    drafts = run(article, *asks, "--replace", "--json").stdout
    assert [draft["id"] for draft in json.loads(drafts)] == ["article:0", "article:1"]
    file = article.with_name("drafts.json")
    file.write_text(drafts)
    assert "has an alternative text" in run("--write", "--from", file, "--yes", status=1).stderr
    assert article.read_text() == before
    file.write_text(json.dumps(json.loads(drafts)[:1]))
    run("--write", "--from", file, "--yes", "--replace")
    first = before.replace("![p0.png]", f"![{TEXT}, number 0]")
    assert article.read_text() == first
    run(article, *asks, "--replace", "--write", "--yes")
    assert article.read_text() == first.replace("![Picture]", f"![{TEXT}, number 1]")
    assert len(server.asked) == 2
