"""Files from strangers stay where they belong, or are refused, and then nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import io
import stat
import threading
import zipfile
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.serve import uploads
from iconotext.serve.jobs import Jobs
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Saved, Store
from iconotext.serve.uploads import form_name, place_of, received, save_files
from tests.support.server import awaited, multipart

SETTINGS = ServeSettings(max_upload=100_000, max_files=5)


def save(folder, files, settings=SETTINGS):
    """By path what lies in the folder afterwards."""
    saved(folder, files, settings)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def saved(folder, files, settings=SETTINGS):
    return save_files([(name, io.BytesIO(data)) for name, data in files], folder, settings)


def packed(*members, kind=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def test_files_and_zips_lie_side_by_side(tmp_path):
    zipped = packed(("b/c.md", b"C"), ("__MACOSX/b/c.md", b"no"), ("b/.DS_Store", b"no"))
    assert save(tmp_path / "in", [("a/a.md", b"A"), ("more.zip", zipped)]) == {"a/a.md": b"A", "b/c.md": b"C"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../a.md", "leads out of the folder"),
        ("a/../../b.md", "leads out of the folder"),
        ("..\\a.md", "leads out of the folder"),
        ("", "no name"),
        ("/.", "no name"),
        ("a/" * 30 + "a.md", "more than 20 folders"),
        (f"{'x' * 250}/" * 18 + "a.md", "too long for the file system"),
    ],
)
def test_names_that_lead_elsewhere_are_refused_alone(tmp_path, name, why):
    found = saved(tmp_path / "in", [(name, b"B"), ("good.md", b"A")])
    assert [path.name for path in (tmp_path / "in").rglob("*") if path.is_file()] == ["good.md"]
    ((_, said),) = found.refused
    assert why in said
    with pytest.raises(DocumentError, match=why):
        save(tmp_path / "other", [(name, b"B")])
    assert not (tmp_path / "other").exists()


NFD = "Cafe\u0301.md"


@pytest.mark.parametrize(
    "name",
    ["Why do I write?.md", "a\nb.md", "a\tb.md", '"quoted" <b>|*.md', ".notes.md", "…", "a:b.md", "C:/a.md", NFD, "%00.md", "~"],
)  # fmt: skip
def test_a_file_keeps_its_name(tmp_path, name):
    found = saved(tmp_path / "in", [(name, b"A")])
    assert (found.labels, found.refused) == ({}, [])
    assert (tmp_path / "in" / name).read_bytes() == b"A"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("x" * 300 + ".md", "x" * 300 + ".md"),
        ("é" * 200 + ".md", "é" * 200 + ".md"),
        ("a\x00.md", "a\x00.md"),
        ("\ud800.md", "\ufffd.md"),
        ("x" * 300 + "/a.md", "x" * 300 + "/a.md"),
        ("a//b.md", "a//b.md"),
        ("./a.md", "./a.md"),
    ],
)
def test_a_name_that_the_disk_cannot_have_is_a_label(tmp_path, name, label):
    found = saved(tmp_path / "in", [(name, b"A"), ("b.md", b"B")])
    ((path, said),) = found.labels.items()
    assert (said, found.refused) == (label, [])
    assert (tmp_path / "in" / path).read_bytes() == b"A"
    assert path.endswith(".md")


def test_names_that_are_the_same_are_kept_apart(tmp_path):
    files = [("a.md", b"1"), ("A.md", b"2"), ("a.md", b"3"), ("b", b"4"), ("b/c.md", b"5"), ("b/d.md", b"6"), ("e/f.md", b"7"), ("e", b"8")]  # fmt: skip
    found = save(tmp_path / "in", files, SETTINGS.model_copy(update={"max_files": 9}))
    assert sorted(found.values()) == [b"%d" % n for n in range(1, 9)]
    assert found["a (2).md"] == b"3"
    assert (found["b (2)/c.md"], found["b (2)/d.md"]) == (b"5", b"6")  # a document and its pictures stay together


@pytest.mark.parametrize(
    ("name", "sent"),
    [("a%22b%22.md", 'a"b".md'), ("a%0Ab%0D.md", "a\nb\r.md"), ("100%.md", "100%.md"), ("%41.md", "%41.md")],
)
def test_the_names_that_browsers_escape(name, sent):
    assert form_name(name) == sent


@given(st.text(st.sampled_from("./\\ab:~ \x00-\u202e"), max_size=30) | st.text(max_size=60))
def test_any_name_stays_below_or_is_refused(name):
    found = PurePosixPath("a")
    with contextlib.suppress(HostileDocumentError):
        found = place_of(name)
    assert not found.is_absolute()
    assert found.parts
    assert ".." not in found.parts
    assert not any("\\" in part or "\x00" in part for part in found.parts)


@pytest.mark.parametrize("name", ["../../out.md", "/out.md", "a/../../../out.md", "..\\out.md"])
def test_members_of_a_zip_cannot_leave_it(tmp_path, name):
    found = save(tmp_path / "a" / "b" / "in", [("a.zip", packed((name, b"X")))])
    assert set(found) <= {"out.md", "a/out.md"}
    assert [path for path in tmp_path.rglob("out.md") if not path.is_relative_to(tmp_path / "a" / "b" / "in")] == []


def test_a_link_in_a_zip_becomes_a_file_that_leads_nowhere(tmp_path):
    info = zipfile.ZipInfo("secret.md")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    save(tmp_path / "in", [("a.zip", packed((info, b"/etc/passwd")))])
    assert not (tmp_path / "in" / "secret.md").is_symlink()
    assert (tmp_path / "in" / "secret.md").read_bytes() == b"/etc/passwd"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([("a.zip", packed(("a.md", bytes(200_000))))], "unpacks to more than the limit"),
        ([("a.zip", packed(*((f"{n}.md", b"x") for n in range(6))))], "6 files in it: at most 5 may come"),
        ([(f"{n}.md", b"x") for n in range(6)], "more than 5 files"),
        ([("a.zip", b"no zip at all")], "cannot be unpacked"),
        ([("a.zip", packed())], "no file came"),
        ([], "no file came"),
    ],
)
def test_limits_hold_and_leave_nothing(tmp_path, files, message):
    with pytest.raises(DocumentError, match=message):
        save(tmp_path / "in", files)
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_a_zip_costs_no_other_file(tmp_path):
    damaged = bytearray(packed(("one.md", b"A" * 99), ("../two.md", b"B"), kind=zipfile.ZIP_STORED))
    damaged[damaged.find(b"A" * 99)] = 66
    many = packed(*((f"{n}.md", b"x") for n in range(6)))
    large = packed(("c.md", b"C"), ("large.md", bytes(99_998)))
    files = [("a.md", b"A"), ("bad.zip", b"no zip"), ("damaged.zip", bytes(damaged)), ("many.zip", many), ("large.zip", large)]  # fmt: skip
    found = saved(tmp_path / "in", files)
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["a.md", "two.md"]
    assert [name for name, _ in found.refused] == ["bad.zip", "damaged.zip/one.md", "many.zip", "large.zip"]
    assert "damaged" in found.refused[1][1]
    assert found.refused[2][1] == "6 files in it: at most 5 may come"
    assert (
        found.refused[3][1] == "unpacks to more than the limit of 97.7 KiB, which `iconotext serve --max-upload` sets"
    )
    assert not list(tmp_path.glob("*.zip"))


def test_a_zip_that_lies_about_its_size_is_stopped(tmp_path):
    data = bytearray(packed(("a.md", bytes(200_000))))
    for at in (data.find(b"PK\x01\x02") + 24, data.find(b"PK\x03\x04") + 22):
        data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(DocumentError):
        save(tmp_path / "in", [("a.zip", bytes(data))])
    assert list(tmp_path.iterdir()) == []


def made_jobs(data):
    no_pool: Any = SimpleNamespace(waiting=0, busy=0)
    return Jobs(Store(data / "s.sqlite"), no_pool, ServeSettings(data=data))


def sent():
    """A request that brings a file."""

    async def receive():
        return {"type": "http.request", "body": multipart({"a.md": b"A"}), "more_body": False}

    return Request({"type": "http", "headers": [(b"content-type", b"multipart/form-data; boundary=xxx")]}, receive)


def test_a_file_is_never_whole_in_memory(tmp_path):
    class Large(io.BytesIO):
        def read(self, size=-1):
            assert 0 < size <= 2**20
            return super().read(size)

    data = bytes(range(256)) * 2**13
    save_files([("a.pdf", Large(data))], tmp_path / "in", ServeSettings(max_upload=2**22))
    assert (tmp_path / "in" / "a.pdf").read_bytes() == data


def test_two_uploads_are_unpacked_at_once_and_no_more(tmp_path, monkeypatch):
    at_once: list[int] = []
    most = []
    two = threading.Barrier(2, timeout=300)

    def save(files, folder, settings):
        at_once.append(1)
        most.append(len(at_once))
        two.wait()  # only if two are unpacked at once does either end
        at_once.pop()
        return Saved()

    async def six():
        await asyncio.gather(*(received(sent(), tmp_path, jobs) for _ in range(6)))

    monkeypatch.setattr(uploads, "save_files", save)
    jobs = made_jobs(tmp_path)
    awaited(six)
    jobs.close()
    jobs.store.close()
    assert (max(most), len(most)) == (2, 6)


def test_a_server_that_was_killed_leaves_nothing_that_was_to_be_sent(tmp_path):
    for name in ("asked", "exports"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_bytes(b"x")
    jobs = made_jobs(tmp_path)
    jobs.close()
    jobs.store.close()
    assert not list(tmp_path.glob("*/old"))
