"""Nothing leaves the machine unless somebody asks for it: the real commands, with the network cut and watched.

Every attempt of a Python process, child processes included, to connect or to look a name up is written down and refused.
Where Linux lets us, all of it runs in a network namespace of its own, whose kernel counts what libraries written in
other languages try to send.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from iconotext.recipe import dump_recipe
from tests.support.pdf import tram_pdf
from tests.support.training import small_recipe, write_synthetic

WATCH = """
import os, socket, sys

def refuse(event, arguments):
    connects = event in ("socket.connect", "socket.sendto", "socket.sendmsg") and arguments[0].family != socket.AF_UNIX
    if connects or event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        with open(os.environ["ATTEMPTS"], "a") as file:
            print(event, arguments[1:] if connects else arguments, sys.argv, file=file)
        raise OSError("the network is cut")

sys.addaudithook(refuse)
"""

RUN = """
import json, sys
from iconotext.cli.app import main

for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    print("STATUS", status, *arguments, flush=True)
"""

COUNT = """
fields, values = [line.split() for line in open("/proc/net/snmp") if line.startswith("Ip:")]
print("REFUSED", dict(zip(fields, values))["OutNoRoutes"])
"""

REMOTE = "http://pictures.example/a.png"

MARKDOWN = f"""# Trams

A red tram waits at the stop. The driver drinks coffee.

![A red tram]({REMOTE})

![A cat on the depot](one.png)

<img src="//cdn.example/b.png" srcset="https://cdn.example/c.png 2x">

A cat sleeps on the roof of the depot.
"""

HTML = f"""<!doctype html><html><head><title>Trams</title><base href="https://site.example/">
<link rel="stylesheet" href="https://cdn.example/style.css"><script src="https://cdn.example/s.js"></script>
<style>@import url(https://cdn.example/more.css); body {{ background: url({REMOTE}) }}</style></head><body><article>
<h1>Trams</h1><p>A red tram waits at the stop, and the driver drinks coffee in the first light of the morning.</p>
<figure><img src="{REMOTE}" srcset="https://cdn.example/2.png 2x" alt="A tram"><figcaption>A tram.</figcaption></figure>
<iframe src="https://video.example/"></iframe><video poster="https://video.example/p.png"></video>
<p>A cat sleeps on the roof of the depot, where nobody wakes it before the evening.</p></article></body></html>"""

SVG = f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="200">
<style>@import url("{REMOTE}");</style><rect width="200" height="200" fill="red"/>
<image width="9" height="9" xlink:href="{REMOTE}"/><image width="9" height="9" href="{REMOTE}"/></svg>"""


ISOLATED = ["unshare", "-rn"]
"""Linux: a network of its own, without any way out."""


def isolated() -> bool:
    return (
        shutil.which("unshare") is not None and subprocess.run([*ISOLATED, "true"], capture_output=True).returncode == 0
    )


@pytest.fixture
def cut(tmp_path):
    """Run commands without a network: what they printed, what they tried, and what the kernel counted."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH)
    attempts = tmp_path / "attempts.txt"

    def run(*commands: str) -> tuple[str, list[str], int]:
        places = [str(tmp_path / "watch"), *(place for place in sys.path if place)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "ATTEMPTS": str(attempts)}
        alone = isolated()
        command = [*(ISOLATED if alone else []), sys.executable, "-c", RUN + COUNT if alone else RUN]
        command.append(json.dumps([line.split() for line in commands]))
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, done.stderr
        tried = attempts.read_text().splitlines() if attempts.exists() else []
        return done.stdout + done.stderr, tried, int(done.stdout.split("REFUSED")[-1]) if alone else 0

    return run


@pytest.mark.slow
def test_nothing_leaves_the_machine(tmp_path, picture, cut):
    for number in range(3):
        picture(f"photos/{number}.png", seed=number)
    picture("one.png", seed=7)
    (tmp_path / "a.md").write_text(MARKDOWN + "\n![A drawing](drawing.svg)\n")
    (tmp_path / "a.html").write_text(HTML)
    (tmp_path / "a.org").write_text(f'A tram.\n\n[[{REMOTE}]]\n\n#+INCLUDE: "https://cdn.example/more.org"\n')
    (tmp_path / "a.tex").write_text(rf"A tram. \includegraphics{{{REMOTE}}} \input{{https://cdn.example/more}}")
    (tmp_path / "drawing.svg").write_text(SVG)
    (tmp_path / "a.pdf").write_bytes(tram_pdf())
    (tmp_path / "small.toml").write_text(dump_recipe(small_recipe(name="small")))
    write_synthetic(tmp_path / "corpus", 20)
    rows = [
        {"id": f"d{n}", "sentences": ["A dog.", "A red tram."], "images": [f"photos/{n}.png"], "links": [[n % 2, 0]]}
        for n in range(3)
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    commands = [
        "link a.md a.html a.pdf --output pages",
        "link a.org a.tex --output more",
        "link a.md --to parquet --output links.parquet --model no-training",
        "library add lib photos a.md",
        "search lib tram --relation story --html found.html",
        "library list lib",
        "corpus build folder --source a.md --output built.jsonl",
        "corpus stats built.jsonl",
        "evaluate no-training gold.jsonl",
        "train small.toml --corpus corpus/corpus.jsonl --output model --set training.epochs=1",
        "demo here",
        "cache",
    ]
    said, attempts, refused = cut(*commands)
    assert [line for line in said.splitlines() if line.startswith("STATUS")] == [
        f"STATUS 0 {line}" for line in commands
    ], said
    assert attempts == []
    assert refused == 0
    pages = [
        *(tmp_path / "pages").glob("*.html"),
        tmp_path / "found.html",
        tmp_path / "here" / "linked" / "article.html",
    ]
    assert len(pages) == 6
    for page in pages:
        assert "Content-Security-Policy\" content=\"default-src 'none'" in page.read_text()


@pytest.mark.slow
def test_what_is_asked_for_is_noticed(tmp_path, picture, cut):
    """Else the test above would prove nothing."""
    picture("one.png", seed=7)
    (tmp_path / "a.md").write_text(MARKDOWN)
    _, attempts, _ = cut("link a.md --to json --fetch")
    assert any("pictures.example" in attempt for attempt in attempts)


@pytest.mark.skipif(not isolated(), reason="needs Linux and leave to make a network namespace")
def test_the_kernel_counts_what_python_does_not_see():
    code = "import socket; socket.socket().connect_ex(('192.0.2.1', 80))" + COUNT
    done = subprocess.run([*ISOLATED, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "REFUSED 1\n"
