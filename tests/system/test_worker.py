from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import docx
import pytest

from iconotext.errors import DocumentError, HostileDocumentError, ImageError
from iconotext.images.file import image_decoder
from iconotext.read import read
from iconotext.system import worker
from iconotext.system.worker import LimitError, run_isolated
from tests.support.epub import book
from tests.support.pdf import Sheet, write_pdf

PLENTY = 2**30
needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")


def test_results_and_errors_come_through():
    assert run_isolated(divmod, PLENTY, 600, 17, 5) == (3, 2)
    assert run_isolated(sorted, PLENTY, 600, [3, 1, 2], reverse=True) == [3, 2, 1]
    with pytest.raises(ZeroDivisionError) as error:  # a mistake of ours is not swallowed, and says where it was made
        run_isolated(divmod, PLENTY, 600, 1, 0)
    assert any("Traceback" in note for note in error.value.__notes__)
    with pytest.raises(ImageError, match="empty"):
        run_isolated(image_decoder, PLENTY, 600, b"")


def test_it_can_be_started_beforehand():
    worker.close_worker()
    worker.start_worker()
    early = run_isolated(os.getpid, PLENTY, 600)
    worker.start_worker()  # it runs already
    assert run_isolated(os.getpid, PLENTY, 600) == early != os.getpid()


@pytest.mark.slow
@needs_limits
def test_memory_is_limited_and_the_next_call_works():
    with pytest.raises(LimitError):
        run_isolated(bytes, 100 * 2**20, 600, 2**29)
    assert run_isolated(len, PLENTY, 600, b"abc") == 3
    assert len(run_isolated(bytes, PLENTY, 600, 2**28)) == 2**28  # a limit is of one call


@pytest.mark.parametrize(
    ("seconds", "function", "arguments"),
    [
        (0.1, time.sleep, [3600]),
        (0.1, hashlib.pbkdf2_hmac, ["sha256", b"a", b"a", 2**31 - 1]),
        (600, os._exit, [0]),  # a process that ends is a limit, too
    ],
)
def test_time_is_limited_and_the_next_call_works(seconds, function, arguments):
    with pytest.raises(LimitError):
        run_isolated(function, PLENTY, seconds, *arguments)
    assert run_isolated(len, PLENTY, 600, b"abc") == 3


@pytest.mark.skipif(os.name != "posix", reason="Windows limits the time by the clock alone")
def test_time_is_limited_by_the_work_not_by_the_clock():
    run_isolated(time.sleep, PLENTY, 0.2, 1.0)
    with pytest.raises(LimitError):
        run_isolated(time.sleep, PLENTY, 0.05, 3600)


@pytest.mark.parametrize(
    ("name", "size", "seconds"),
    [("a.html", 100_000, 65), ("a.md", 100, 60), ("a.docx", 2**24, 600), ("a.pdf", 100, 600)],
)
def test_how_long_a_document_may_take_depends_on_its_size(tmp_path, monkeypatch, name, size, seconds):
    def too_long(_function, _memory, given, *_arguments):
        assert given == pytest.approx(seconds, abs=0.1)
        raise LimitError

    monkeypatch.setattr(import_module("iconotext.read"), "run_isolated", too_long)
    (tmp_path / name).write_bytes(b"a" * size)
    with pytest.raises(
        HostileDocumentError, match=f"reading it takes more than 900 MiB of memory or {seconds} seconds"
    ):
        read(tmp_path / name)


def test_without_limits_of_the_system_it_works(monkeypatch):
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    worker.limit_memory(1)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(2**20)) == 2**20


def test_many_threads_share_it(tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.md").write_text(f"Sentence number {number}.")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: read(tmp_path / f"{n}.md").sentences[0].text, range(20)))
    assert found == [f"Sentence number {number}." for number in range(20)]


def test_messages_name_the_path_as_it_was_given(tmp_path, monkeypatch):
    (tmp_path / "binary.md").write_bytes(b"\x00\xff\xfe\x81" * 50)
    run_isolated(len, PLENTY, 600, b"")  # it runs in another folder by now
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError, match=r"^binary\.md: not a text file"):
        read("binary.md")


def program(code, *arguments):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def ended(pid):
    for _ in range(6000):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


BUSY = """
import os, threading, time
from iconotext.system.worker import run_isolated
print(run_isolated(os.getpid, 2**30, 600), flush=True)
run_isolated(time.sleep, 2**30, 3600, 3600)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, -2)])
def test_it_ends_with_its_parent_even_amid_work(number, status):
    parent = program(BUSY)
    pid = int(parent.stdout.readline())
    time.sleep(0.3)
    parent.send_signal(number)
    assert parent.wait(timeout=600) == status
    parent.stdout.close()
    assert ended(pid)


LEFT = """
import threading, time
from iconotext.system import worker
threading.Thread(target=worker.run_isolated, args=(time.sleep, 2**30, 3600, 3600), daemon=True).start()
while worker._worker is None or not worker._worker.ready:
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_a_program_ends_while_it_is_at_work():
    ran = program(LEFT)
    ran.communicate(timeout=600)
    assert ran.returncode == 0


FORKED = """
import os, sys
from iconotext.read import read
print(read(sys.argv[1]).sentences[0].text, flush=True)
child = os.fork()
text = read(sys.argv[1]).sentences[0].text
if child == 0:
    print("child", text, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("parent", text, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.slow
def test_a_forked_process_has_its_own(tmp_path):
    (tmp_path / "a.md").write_text("A sentence.")
    ran = program(FORKED, tmp_path / "a.md")
    said, _ = ran.communicate(timeout=600)
    assert ran.returncode == 0
    assert sorted(said.splitlines()) == ["A sentence.", "child A sentence.", "parent A sentence."]


def twice() -> bytes:
    head = b"<< /Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /Fm 900 0 R >> >> /Length 15 >>"
    sheet = Sheet(content=["/Fm Do"], xobjects={"Fm": 900})
    return write_pdf([sheet], objects={900: head + b"\nstream\n/Fm Do /Fm Do  \nendstream"})


def long_text() -> str:
    return " ".join(f"Sentence number {number} has a few words in it." for number in range(300_000))


def large(kind: str) -> bytes:
    match kind:
        case "md" | "html":
            return f"<p>{long_text()}</p>".encode()
        case "docx":
            document, buffer = docx.Document(), io.BytesIO()
            document.add_paragraph(long_text())
            document.save(buffer)
            return buffer.getvalue()
        case "epub":
            return book({"one": f"<p>{long_text()}</p>"})
        case _:
            return twice()


@pytest.mark.slow
@needs_limits
@pytest.mark.parametrize("kind", ["md", "html", "docx", "epub", "pdf"])
def test_every_reader_works_under_a_bound(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("iconotext.read"), "MAX_MEMORY", 2**25)
    path = tmp_path / f"large.{kind}"
    path.write_bytes(large(kind))
    with pytest.raises(HostileDocumentError, match=r"large.*takes more than 32 MiB of memory"):
        read(path)
