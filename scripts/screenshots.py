"""Pictures of pages for the guides: of ``iconotext serve`` wide in light and narrow in dark colours, and of the demo.

    python scripts/screenshots.py              # all of them, into docs/images
    python scripts/screenshots.py review list  # some of them

The documents are those of ``drawn_garden.py``. A page more is a function more in ``PAGES``, and what it needs of the
server an option more in ``started``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from iconotext.library.update import add_paths

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from drawn_garden import write_garden  # noqa: E402  # both lie beside this file

from tests.support.browser import Visit, browser_program, launched  # noqa: E402
from tests.support.server import Running  # noqa: E402

LOOKS = {"wide": (1280, 860, "light"), "narrow": (390, 844, "dark")}
LARGEST = 120_000
"""Bytes of a picture."""

LOADED = """Promise.all([...document.images]
    .filter((one) => one.loading === "lazy" ? one.getBoundingClientRect().top < innerHeight : one.currentSrc)
    .map((one) => one.decode()))"""


class Camera:
    """Takes pictures of the pages of a server.

    Attributes:
        browser: Of Playwright.
        server: Which runs.
        folder: Where its files are.
        collection: What it says of the collection with the two articles.
    """

    def __init__(self, browser: Any, server: Running) -> None:
        self.server, self.folder, self.browser = server, server.data.parent, browser
        self.collection = server.linked(server.ask("POST", "/v1/collections/path", {"path": "garden"}).json["id"])

    def take(self, name: str, path: str, ready: Callable[[Any], object]) -> None:
        """Write ``docs/images/serve-NAME-wide.png`` and ``-narrow.png``.

        Args:
            name: Of the page.
            path: Its address on the server.
            ready: Called with the page of Playwright: does what leads to what is to be seen, and waits for it.
        """
        for look, (width, height, scheme) in LOOKS.items():
            visit = Visit(self.browser, self.server, width=width, height=height, scheme=scheme)
            visit.go(path)
            ready(visit.page)
            visit.page.evaluate(LOADED)
            _save(visit.page.screenshot(), ROOT / f"docs/images/serve-{name}-{look}.png")
            visit.context.close()
            assert visit.wrong == []


def _save(data: bytes, path: Path) -> None:
    with Image.open(BytesIO(data)) as image:
        for colours in (256, 128, 64, 32):
            image.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
            if path.stat().st_size <= LARGEST:
                return
    raise SystemExit(f"{path}: {path.stat().st_size} bytes with 32 colours: show less")


def list_page(camera: Camera) -> None:
    """The documents that were opened."""
    camera.take("list", "/", lambda page: page.wait_for_selector(".card .choices"))


def reading_view(camera: Camera) -> None:
    """An article with lines from its pictures to their sentences."""
    article = next(one["id"] for one in camera.collection["documents"] if one["title"].startswith("Soup"))
    camera.take("reading", f"/documents/{article}", lambda page: page.wait_for_selector("html.js"))


def review_page(camera: Camera) -> None:
    """The picture of which a correction changes most."""

    def begin(page: Any) -> None:
        page.fill("#reviewer", "Ada")
        page.keyboard.press("Enter")
        page.wait_for_selector("#judge:not([hidden])")

    camera.take("review", f"/collections/{camera.collection['id']}/review", begin)


def alt_text_page(camera: Camera) -> None:
    """Pictures without alternative texts, and the sentences about them."""
    with tempfile.TemporaryDirectory() as name:
        write_garden(folder := Path(name))
        pictures = {f"pot/{each}": (folder / each).read_bytes() for each in ("pot.png", "can.png")}
        made = camera.server.send({"pot/pot.md": POT.encode(), **pictures}).json
    camera.server.linked(made["id"])
    address = f"/collections/{made['id']}/alt-text"
    camera.take("alt-text", address, lambda page: page.wait_for_selector(".picture-card:focus"))
    camera.server.ask("DELETE", f"/v1/collections/{made['id']}")


POT = """# A pot that lasts

The photo below shows a red pot of soup on the stove. It was bought in 1974, and it has never been mended.

![](pot.png)

It is washed by hand, with the water that is left in the can when the beans have had theirs.

![can_final_2.png](can.png)
"""


def search_page(camera: Camera) -> None:
    """Pictures that fit a sentence, those first of which a story is told."""
    path = "/search?sentence=The+watering+can+goes+to+the+beans+every+evening&relation=story"
    camera.take("search", path, lambda page: page.wait_for_selector(".cards li"))


def demo_article(camera: Camera) -> None:
    """The article of ``iconotext demo``, with one picture pointed at, in light and in dark colours."""
    folder = camera.folder / "demo"
    subprocess.run([sys.executable, "-m", "iconotext", "demo", str(folder)], check=True, stdout=subprocess.DEVNULL)
    for name, scheme in {"desktop": "light", "dark": "dark"}.items():
        page = camera.browser.new_page(viewport={"width": 1280, "height": 640}, color_scheme=scheme)
        page.goto((folder / "linked/article.html").as_uri())
        page.wait_for_selector("html.js")
        page.get_by_role("heading", name="At the kitchen table").evaluate("(head) => scrollTo(0, head.offsetTop)")
        page.evaluate(LOADED)
        page.hover("figure >> nth=1")
        page.wait_for_timeout(500)  # until the lines of the others have faded
        with Image.open(BytesIO(page.screenshot())) as image:
            image.convert("RGB").save(ROOT / f"docs/images/demo-{name}.webp", quality=80, method=6)
        page.close()


PAGES = {
    "alt-text": alt_text_page,
    "demo": demo_article,
    "list": list_page,
    "reading": reading_view,
    "review": review_page,
    "search": search_page,
}


@contextmanager
def started(folder: Path) -> Iterator[Running]:
    """A server with everything that its pages need, in a folder."""
    write_garden(folder / "root" / "garden")
    add_paths(folder / "pictures", [folder / "root" / "garden"])
    places = {"--root": "root", "--library": "pictures"}
    options = [each for option, name in places.items() for each in (option, str(folder / name))]
    server = Running(folder / "data", *options)
    try:
        yield server
    finally:
        server.close()


def main(names: list[str]) -> None:
    """Take the pictures of the pages of these names, or of all."""
    program = browser_program()
    if program is None:
        raise SystemExit("no browser: install chromium or google-chrome")
    with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as server, launched(program) as browser:
        camera = Camera(browser, server)
        for name in names or PAGES:
            PAGES[name](camera)


if __name__ == "__main__":
    main(sys.argv[1:])
