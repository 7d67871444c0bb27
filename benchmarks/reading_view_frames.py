"""Does the reading view keep up with the screen? Frames that Chromium presents and drops, by its own tracing.

    python benchmarks/reading_view_frames.py                  # 40 pictures, 400 sentences

An article is made up (drawn pictures, 3 links each) and opened in a headless Chromium, 1280 x 860. It is scrolled from
end to end, the pointer goes over sentences and pictures, and the confidence is slid from 0 to 100 % and back. Of each
gesture the trace says how many frames were shown, how many of them were dropped (``PipelineReporter``), and how much
computing the busiest tasks of the page took: 16.7 ms are one frame at 60 a second. Computing time hardly depends on
what else the machine does; dropped frames do. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image as Pixels
from PIL import ImageDraw
from playwright.sync_api import sync_playwright

from iconotext import save
from iconotext.types import Document, Image, Link, LinkedDocument, Sentence

FRAME = 1000 / 60
CATEGORIES = ["devtools.timeline", "toplevel", "cc", "benchmark", "disabled-by-default-devtools.timeline"]
WORDS = (
    "the boat lies in the harbour while a green tram waits at its stop and somebody drinks coffee near an old wall "
    "before the rain comes over the hill"
).split()


class Frames(NamedTuple):
    """What a trace says of one gesture.

    Attributes:
        seconds: How long it took.
        presented: Frames that were shown.
        dropped: Frames that should have been shown and were not.
        tasks: Milliseconds of computing of each task of the page's main thread, the longest first.
    """

    seconds: float
    presented: int
    dropped: int
    tasks: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=40)
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--runs", type=int, default=3, help="of each gesture; the middle one by dropped frames counts")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as program:
        path = Path(folder) / "article.html"
        save(article(arguments.pictures, arguments.sentences), path)
        browser = program.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(path.as_uri())
        page.wait_for_selector("html.js")
        page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        print(f"{browser.version}; {arguments.pictures} pictures, {arguments.sentences} sentences\n")
        print("| gesture | seconds | frames shown | dropped | longest tasks, ms of computing | tasks over 16.7 ms |")
        print("|---|---|---|---|---|---|")
        for name, gesture in {"scroll": scroll, "hover": hover, "slide": slide}.items():
            found = sorted((traced(browser, page, gesture) for _ in range(arguments.runs)), key=lambda f: f.dropped)
            print(line(name, found[len(found) // 2]), flush=True)
        browser.close()


def line(name: str, found: Frames) -> str:
    whole = max(1, found.presented + found.dropped)
    longest = ", ".join(f"{task:.1f}" for task in found.tasks[:3])
    over = sum(task > FRAME for task in found.tasks)
    share = f"{found.dropped} ({found.dropped / whole:.0%})"
    return f"| {name} | {found.seconds:.1f} | {found.presented} | {share} | {longest} | {over} of {len(found.tasks)} |"


def article(pictures: int, sentences: int) -> LinkedDocument:
    """An article of paragraphs of four sentences, with its pictures drawn and evenly spread, each with three links."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(8, 24))).capitalize() + "." for _ in range(sentences)]
    said = tuple(Sentence(text, number // 4) for number, text in enumerate(texts))
    places = [round((n + 0.5) * sentences / pictures) for n in range(pictures)]
    images = tuple(
        Image(f"p{n}.png", file=drawn(n), caption=f"Picture of the {WORDS[n % len(WORDS)]}", position=places[n])
        for n in range(pictures)
    )
    links = []
    for n, place in enumerate(places):
        near = rng.choice(np.arange(max(0, place - 6), min(sentences, place + 6)), 3, replace=False)
        shares = rng.dirichlet([2, 1, 1, 1])[:3]
        links += [
            Link(int(i), n, float(p), float(p), float(p), {"caption": float(2 * p), "layout": float(p)})
            for i, p in zip(near, shares, strict=True)
        ]
    document = Document("article", said, images, title="An article")
    return LinkedDocument(document, tuple(links), np.zeros((sentences, pictures), np.float32), "made up")


def drawn(number: int) -> bytes:
    """A picture with enough in it to be as large as a photograph."""
    rng = np.random.default_rng(number)
    small = Pixels.fromarray(rng.integers(0, 255, (30, 40, 3), np.uint8))
    pixels = small.resize((900, 675), Pixels.Resampling.BICUBIC)
    draw = ImageDraw.Draw(pixels)
    for _ in range(40):
        x, y, size = rng.integers(0, 900), rng.integers(0, 675), rng.integers(10, 120)
        draw.ellipse((int(x), int(y), int(x + size), int(y + size)), fill=tuple(map(int, rng.integers(0, 255, 3))))
    file = BytesIO()
    pixels.save(file, "JPEG", quality=85)
    return file.getvalue()


def scroll(page: Any) -> None:
    """From top to bottom and back, 3,000 pixels a second."""
    session = page.context.new_cdp_session(page)
    height = page.evaluate("document.documentElement.scrollHeight")
    for distance in (-height, height):
        gesture = {"x": 640, "y": 430, "yDistance": distance, "speed": 3000, "gestureSourceType": "mouse"}
        session.send("Input.synthesizeScrollGesture", gesture)
    session.detach()


def hover(page: Any) -> None:
    """Over the text and the pictures of a part in the middle, on a wavy line, a move a frame."""
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    for step in range(180):
        page.mouse.move(640 + 560 * math.sin(step / 12), 120 + step * 4)
        page.wait_for_timeout(FRAME)


def slide(page: Any) -> None:
    """The smallest confidence from 0 to 100 % and back, a step a frame."""
    box = page.locator("#minimum").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    for step in [*range(60), *reversed(range(60))]:
        page.mouse.move(box["x"] + 2 + step / 59 * (box["width"] - 4), box["y"] + box["height"] / 2)
        page.wait_for_timeout(FRAME)
    page.mouse.up()


def traced(browser: Any, page: Any, gesture: Callable[[Any], None]) -> Frames:
    """A gesture, and what the browser's trace says of it."""
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    browser.start_tracing(page=page, categories=CATEGORIES)
    gesture(page)
    return frames(json.loads(browser.stop_tracing())["traceEvents"])


def frames(events: Sequence[dict[str, Any]]) -> Frames:
    """Read a trace."""
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    main_threads = Counter(
        (e["pid"], e["tid"])
        for e in events
        if e["name"] == "RunTask" and threads.get((e["pid"], e["tid"])) == "CrRendererMain"
    )
    (main_thread, _), *_ = main_threads.most_common(1)
    tasks = [
        e.get("tdur", e["dur"]) / 1000
        for e in events
        if e["name"] == "RunTask" and e["ph"] == "X" and (e["pid"], e["tid"]) == main_thread
    ]
    reports = [
        e["args"].get("chrome_frame_reporter") or e["args"].get("frame_reporter") or {}
        for e in events
        if e["name"] == "PipelineReporter" and e["pid"] == main_thread[0] and "args" in e
    ]
    states = Counter(
        "dropped" if report.get("state") == "STATE_DROPPED" else "presented"
        for report in reports
        if report.get("state") in ("STATE_PRESENTED_ALL", "STATE_PRESENTED_PARTIAL")
        or (report.get("state") == "STATE_DROPPED" and report.get("affects_smoothness"))
    )
    times = [e["ts"] for e in events if e["name"] == "RunTask"]
    seconds = (max(times) - min(times)) / 1e6
    return Frames(seconds, states["presented"], states["dropped"], sorted(tasks, reverse=True))


if __name__ == "__main__":
    main()
