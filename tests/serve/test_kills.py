"""A server that is killed again and again: nothing that it answered is lost, and the next one goes on."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from itertools import count

import pytest

from tests.support.server import Running, described, dropped, say, verdict, wait_for, write_article

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def test_kills_lose_nothing_that_was_answered_and_the_next_server_goes_on(tmp_path, article):
    write_article(tmp_path / "trip")
    server = Running(tmp_path / "data")
    made, document = dropped(server, tmp_path / "trip")
    keys = [one["key"] for one in described(server, document)["pictures"]]
    home, numbers = f"/v1/collections/{made}", count()
    reviewers: list[int] = []
    texts: dict[str, int] = {}

    def describe(server: Running) -> None:
        for number in numbers:
            if say(server, document, keys[number % 3], f"Text {number}") == 201:
                texts[keys[number % 3]] = number

    def judge(server: Running) -> None:
        for number in count(reviewers[-1] + 2 if reviewers else 0):  # the one between may have been kept
            said = verdict(document, number % 2, reviewer=f"R{number}")
            if server.ask("POST", f"{home}/verdicts", said).status == 201:
                reviewers.append(number)

    def until_killed(speak: Callable[[Running], None], server: Running) -> None:
        with suppress(OSError, HTTPException):
            speak(server)

    def heard(before: int) -> bool:
        return -1 not in texts.values() and len(reviewers) > before

    def states(collection: str) -> list[str]:
        return [each["state"] for each in server.ask("GET", f"/v1/collections/{collection}").json["documents"]]

    files = {f"trip/{n}.md": article["trip/article.md"] for n in range(6)}
    many = server.send(files | {name: data for name, data in article.items() if name.endswith(".png")}).json["id"]
    wait_for(lambda: states(many).count("done") >= 2)
    for kills in range(1, 4):
        texts.update(dict.fromkeys(keys, -1))
        before = len(reviewers)
        speakers = [threading.Thread(target=until_killed, args=(one, server)) for one in (describe, judge)]
        for each in speakers:
            each.start()
        wait_for(partial(heard, before))
        time.sleep(random.Random(kills).uniform(0, 0.5))
        server.kill()
        for each in speakers:
            each.join()
        server = Running(tmp_path / "data")
        assert states(many).count("done") >= 2
        kept = {one["key"]: one["text"] for one in described(server, document)["pictures"]}
        for key, number in texts.items():  # the one under way may have been kept, too
            assert int(kept[key].split()[1]) in (number, number + 3)
        pictures = server.ask("GET", f"{home}/review").json["pictures"]
        judged = {name for picture in pictures for name in picture["verdicts"]}
        assert {f"R{number}" for number in reviewers} <= judged
        assert len(judged) <= len(reviewers) + kills
    assert [each["state"] for each in server.linked(many)["documents"]] == ["done"] * 6
    server.close()
