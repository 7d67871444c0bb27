"""Studies of two systems whose pictures differ by their colour, and raters that ask a server."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from PIL import Image

from iconotext.papers.studies.study import Contenders, create_study
from tests.support.server import Running

SIDES = {"first": (200, 30, 30), "second": (30, 30, 200)}
"""Colour of the pictures of each of the two systems."""


def make_study(path: Path, *, pairs: int = 3, raters: int = 2) -> Path:
    """A study of two systems, of whose pictures the last two are the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = {name: path.parent / f"{name}-system.png" for name in SIDES}
    for name, colour in SIDES.items():
        Image.new("RGB", (60, 40), colour).save(files[name])
    found = [
        Contenders("zeppelin", f"q{n}", f"Text {n}: <b>bold</b> & more.", files["first"], files["second"], ("Story",))
        for n in range(pairs - 1)
    ]
    same = Contenders("zeppelin", "same", "Text of both.", files["first"], files["first"], ("Meta",))
    create_study(path, [*found, same], second="marzipan", raters=raters)
    return path


class Study:
    """A study on a server, as programs see it."""

    def __init__(self, server: Running, address: str) -> None:
        self.server, self.address = server, address

    def post(self, what: str, rater: str, **values: Any) -> Any:
        answer = self.server.ask("POST", f"/v1/studies/{self.address}/{what}", {"rater": rater, **values})
        assert answer.status == 200, answer.body
        return answer.json

    def colour(self, pair: int, side: str, rater: str) -> str:
        """Which system's picture it is, as its pixels tell."""
        answer = self.server.ask("GET", f"/v1/studies/{self.address}/pairs/{pair}/{side}?rater={rater}")
        assert answer.status == 200
        red, _, blue = Image.open(io.BytesIO(answer.body)).convert("RGB").getpixel((20, 20))  # type: ignore[misc]  # of RGB it is a tuple
        return "first" if red > blue else "second"

    def judge_all(self, rater: str) -> Any:
        """Judge everything, for the first system; the last turn."""
        turn = self.post("next", rater)
        while (pair := turn["pair"]) is not None:
            answer = "same" if pair["identical"] else "a" if self.colour(pair["number"], "a", rater) == "first" else "b"
            turn = self.post("votes", rater, pair=pair["number"], answer=answer)
        return turn


def addresses(server: Running) -> list[str]:
    return re.findall(r'href="/studies/(\w{8})', server.ask("GET", "/studies").body.decode())
