"""Fetching into a folder, against a server on loopback; nothing waits, and the network is never asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from iconotext.corpus.builders.fetched import GIVE_UP, LEDGER, fetch_images, name_of
from iconotext.errors import OutputError, UnreachableError
from iconotext.read.web.polite import PoliteFetcher, Politeness
from tests.support.corpora import png
from tests.support.web import Time, Web, serving


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        yield web


def fetched(web, addresses, folder, politeness=None, **options):
    """What became of the addresses, without waiting for anything."""
    made = Time()

    def make(sleep):
        return PoliteFetcher(politeness, lookup=web.lookup, clock=made.clock, sleep=made.sleep).fetch

    return {result.address: result for result in fetch_images(addresses, folder, make_fetcher=make, **options)}


def fetched_by(fetch, addresses, folder):
    """The outcomes, fetched by a function of the address."""
    return list(fetch_images(addresses, folder, make_fetcher=lambda sleep: fetch))


def ledger(folder):
    return [json.loads(line) for line in (folder / LEDGER).read_text().splitlines()]


def test_pictures_are_kept_under_a_digest_of_their_address(web, tmp_path):
    addresses = [web.put("a.example/1.png", png()), web.put("b.example/x?y=2", png(1, "jpeg"), kind="image/jpeg")]
    found = fetched(web, [*addresses, addresses[0]], tmp_path / "new")
    assert [found[a].file for a in addresses] == [
        tmp_path / "new" / f"{name_of(addresses[0])}.png",
        tmp_path / "new" / f"{name_of(addresses[1])}.jpg",
    ]
    assert found[addresses[0]].file.read_bytes() == png()
    assert web.asked["a.example/1.png"] == 1
    again = fetched(web, addresses, tmp_path / "new")
    assert [again[a].file for a in addresses] == [found[a].file for a in addresses]
    assert not any(result.new for result in again.values())
    assert web.asked["a.example/1.png"] == web.asked["a.example/robots.txt"] == 1


def test_what_is_missing_is_counted_with_its_reason(web, tmp_path):
    web.put("c.example/robots.txt", b"User-agent: *\nDisallow: /", kind="text/plain")
    reasons = {
        web.address("a.example/gone.png"): "answered 404",
        web.put("a.example/page", b"<html>", kind="text/html"): "not a picture",
        web.put("a.example/lie.png", b"<html><body>"): "a web page where a picture should be",
        web.put("a.example/cut.png", b"\x89PNG\r\n"): "not a picture",
        web.put("a.example/svg", b"<svg xmlns=''/>", kind="image/svg+xml"): "SVG",
        web.put("a.example/big.png", b"x" * 2000): "larger than",
        web.put("a.example/in", statuses=(301,), headers={"Location": "http://10.0.0.1/p.png"}): "not a public address",
        web.put("c.example/p.png", png()): "robots.txt",
        "http://127.0.0.1/x.png": "not a public address",
        "no address": "neither http nor https",
        "http://[broken": "valid address",
    }
    found = fetched(web, reasons, tmp_path, politeness=Politeness(max_bytes=1000))
    assert {address for address, result in found.items() if result.file is None} == set(reasons)
    for address, reason in reasons.items():
        assert reason in found[address].problem
        assert found[address].final
    asked = dict(web.asked)
    again = fetched(web, reasons, tmp_path)
    assert {a: (r.problem, r.new) for a, r in again.items()} == {a: (r.problem, False) for a, r in found.items()}
    assert web.asked == asked


def test_a_busy_server_is_asked_again_by_the_next_run(web, tmp_path):
    address = web.put("a.example/p.png", png(), statuses=(503, 503, 503, 200))
    found = fetched(web, [address], tmp_path)[address]
    assert (found.file, found.final) == (None, False)
    assert "answered 503" in found.problem
    assert fetched(web, [address], tmp_path)[address].file is not None
    assert [line.get("final") for line in ledger(tmp_path)] == [False, None]


def test_a_host_that_does_not_answer_is_left_for_another_run(tmp_path):
    asked = []

    def fetch(address):
        asked.append(address)
        raise UnreachableError("nobody there")

    addresses = [f"http://a.example/{i}" for i in range(GIVE_UP + 20)] + ["http://b.example/1"]
    found = fetched_by(fetch, addresses, tmp_path)
    assert len(found) == len(addresses)
    assert not any(result.final for result in found)
    assert len(asked) == GIVE_UP + 1
    assert sum("left for another run" in result.problem for result in found) == 20


def test_hosts_side_by_side_and_addresses_of_a_host_one_after_the_other(tmp_path):
    running: dict[str, int] = {}
    together = threading.Barrier(3, timeout=300)
    lock = threading.Lock()

    def fetch(address):
        host = address.split("/")[2]
        with lock:
            running[host] = running.get(host, 0) + 1
            assert running[host] == 1
        together.wait()  # only if three hosts are asked at once does anybody get on
        with lock:
            running[host] -= 1
        return png()

    addresses = [f"http://{host}.example/{i}.png" for host in "abc" for i in range(4)]
    assert all(result.file is not None for result in fetched_by(fetch, addresses, tmp_path))


def test_a_ledger_that_was_cut_off(web, tmp_path):
    addresses = [web.put(f"a.example/{i}.png", png(i)) for i in range(3)]
    fetched(web, addresses, tmp_path)
    lines = (tmp_path / LEDGER).read_bytes().splitlines(keepends=True)
    (tmp_path / LEDGER).write_bytes(lines[0] + b'[1]\n{"address": 3}\n' + lines[1][:20])
    web.put("a.example/3.png", png(3))
    found = fetched(web, [*addresses, web.address("a.example/3.png")], tmp_path)
    assert all(result.file is not None for result in found.values())
    assert sum(result.new for result in found.values()) == 1  # the pictures are there, whatever the ledger says
    assert json.loads((tmp_path / LEDGER).read_text().splitlines()[-1])["address"].endswith("3.png")
    next(tmp_path.glob(f"{name_of(addresses[0])}*")).unlink()
    assert fetched(web, addresses, tmp_path)[addresses[0]].new


def test_ending_early_keeps_what_was_reported(tmp_path):
    begun = threading.Event()

    def make(sleep):
        def fetch(address):
            if address.endswith("0"):
                return png()
            begun.set()
            sleep(1000.0)
            raise AssertionError("sleep must end with the work")

        return fetch

    results = fetch_images([f"http://a.example/{i}" for i in range(3)], tmp_path, make_fetcher=make)
    assert next(results).file is not None
    assert begun.wait(300)
    results.close()  # at once, not in a quarter of an hour
    assert [line["address"] for line in ledger(tmp_path)] == ["http://a.example/0"]


def test_an_error_in_a_thread_comes_out(tmp_path):
    def fetch(address):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fetched_by(fetch, ["http://a.example/1"], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        fetched_by(fetch, ["http://a.example/1"], tmp_path / "file")


CHILD = """
import sys
from pathlib import Path
from iconotext.corpus.builders.fetched import fetch_images
from iconotext.read.web.polite import Politeness, PoliteFetcher

def make(sleep):
    return PoliteFetcher(Politeness(interval=0.03), lookup=lambda host, port: "127.0.0.1", sleep=sleep).fetch

folder, *addresses = sys.argv[1:]
for result in fetch_images(addresses, Path(folder), make_fetcher=make):
    print(result.address, flush=True)
"""


def test_killed_and_run_again_nothing_is_fetched_twice(web, tmp_path):
    addresses = [web.put(f"{host}.example/{i}.png", png(i)) for host in "ab" for i in range(12)]
    addresses += [web.address("a.example/gone.png")]
    command = [sys.executable, "-c", CHILD, str(tmp_path), *addresses]
    source = str(Path(__file__).parents[3] / "src")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        told = [child.stdout.readline().strip() for _ in range(6)]
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert 6 <= sum(web.asked[key] for key in web.asked if key.endswith(".png")) < 24
    there = {path.stem for path in tmp_path.glob("*.png")}
    assert {name_of(address) for address in told if not address.endswith("gone.png")} <= there
    found = fetched(web, addresses, tmp_path)
    assert sum(result.file is not None for result in found.values()) == 24
    for address in addresses[:-1]:
        if name_of(address) in there:
            assert web.asked[address.replace(f":{web.port}", "").removeprefix("http://")] == 1
    for address, result in found.items():
        if result.file is not None:
            number = int(address.rpartition("/")[2].removesuffix(".png"))
            assert result.file.read_bytes() == png(number)
