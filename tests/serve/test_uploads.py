"""Files from strangers stay where they belong, or are refused, and then nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import io
import stat
import time
import zipfile
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.serve import collections
from iconotext.serve.collections import received
from iconotext.serve.events import Events
from iconotext.serve.jobs import Jobs
from iconotext.serve.pool import Pool
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store
from iconotext.serve.uploads import safe_name, save_files
from tests.serve.conftest import awaited, multipart

SETTINGS = ServeSettings(max_upload=100_000, max_files=5)


def save(folder, files, settings=SETTINGS):
    save_files([(name, io.BytesIO(data)) for name, data in files], folder, settings)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
    "name",
    ["../a.md", "a/../../b.md", "/etc/passwd", "C:\\a.md", "\\\\host\\a.md", "a//b.md", "./a.md", "", "a\x00.md", "a\n.md",
     "..\\a.md", "x" * 300, "a/" * 30 + "a.md", "\ud800.md"],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(tmp_path, name):
    with pytest.raises(HostileDocumentError):
        save(tmp_path / "in", [("good.md", b"A"), (name, b"B")])
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.sampled_from("./\\ab:~ \x00-\u202e"), max_size=30) | st.text(max_size=60))
def test_any_name_stays_below_or_is_refused(name):
    found = PurePosixPath("a")
    with contextlib.suppress(HostileDocumentError):
        found = safe_name(name)
    assert not found.is_absolute()
    assert found.parts
    assert ".." not in found.parts
    assert not any("\\" in part or ":" in part for part in found.parts)


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
        ([("a.zip", packed(("a.md", bytes(60_000)))), ("b.zip", packed(("b.md", bytes(60_000))))], "unpacks to more"),
        ([("a.zip", packed(*((f"{n}.md", b"x") for n in range(6))))], "files in the zip"),
        ([(f"{n}.md", b"x") for n in range(6)], "more than 5 files"),
        ([("a.md", b"x"), ("A.md", b"y")], "two files are called"),
        ([("a", b"x"), ("a/b.md", b"y")], "same name"),
        ([("a.zip", b"no zip at all")], "cannot be unpacked"),
        ([("a.zip", packed())], "no file came"),
        ([], "no file came"),
    ],
)
def test_limits_hold_and_leave_nothing(tmp_path, files, message):
    with pytest.raises(DocumentError, match=message):
        save(tmp_path / "in", files)
    assert list(tmp_path.iterdir()) == []


def test_a_zip_that_lies_about_its_size_is_stopped(tmp_path):
    data = bytearray(packed(("a.md", bytes(200_000))))
    for at in (data.find(b"PK\x01\x02") + 24, data.find(b"PK\x03\x04") + 22):
        data[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(DocumentError):
        save(tmp_path / "in", [("a.zip", bytes(data))])
    assert list(tmp_path.iterdir()) == []


def made_jobs(data):
    return Jobs(Store(data / "s.sqlite"), Pool(0, print, None), ServeSettings(data=data), Events())


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

    def save(files, folder, settings):
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.05)
        at_once.pop()

    async def six():
        await asyncio.gather(*(received(sent(), tmp_path, jobs) for _ in range(6)))

    monkeypatch.setattr(collections, "save_files", save)
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
