"""Draft alternative texts with a vision model: draft_with_vision_model.py [DOCUMENT [URL MODEL]].

Without the address of a server and the name of its model, a stand-in answers, which sees nothing but a colour.

Prints

    red-square.png: A surface whose mean colour is ...
    1 asked of ...
"""

import base64
import io
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image
from shapes import draw

import iconotext
from iconotext.alt_text import Captioner, CaptionerSettings, Draft, captioned_drafts


class StandIn(BaseHTTPRequestHandler):
    """Says in the chat-completions protocol which colour a picture has."""

    def do_POST(self) -> None:
        """Answer a request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        uri = asked["messages"][1]["content"][0]["image_url"]["url"]
        picture = Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
        red, green, blue = picture.convert("RGB").resize((1, 1)).getpixel((0, 0))
        text = f"A surface whose mean colour is {red} red, {green} green and {blue} blue"
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice], "usage": {"total_tokens": 1000}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing on the terminal."""


@contextmanager
def stand_in() -> Iterator[tuple[str, str]]:
    """Run the stand-in in the block; its address, and the name of its model."""
    with ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", "stand-in"


def show(document: str, url: str, model: str) -> None:
    """Print a draft for each picture of a document without alternative text, or why there is none."""
    linked = iconotext.Linker.load().link(document)
    captioner = Captioner(CaptionerSettings(url=url, model=model))
    for draft in captioned_drafts([(linked, None)], captioner):
        print(f"{draft.source}: {draft.text if isinstance(draft, Draft) else draft.reason}")
    print(f"{captioner.sent + captioner.stored} asked of {captioner.name}")


if len(sys.argv) > 1:
    document = sys.argv[1]
else:
    document = "bare.md"
    draw(Path("red-square.png"), "red", "square")
    Path(document).write_text("Somebody has drawn a square.\n\n![](red-square.png)\n", encoding="utf-8")
if len(sys.argv) > 3:
    show(document, *sys.argv[2:4])
else:
    with stand_in() as (url, model):
        show(document, url, model)
