from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iconotext.errors import OutputError, SettingError
from iconotext.system.files import check_overwrite, locked, write_bytes, write_text


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_writes_and_makes_folders(tmp_path):
    write_text(tmp_path / "a" / "b" / "c.txt", ["grü", "n\r\n"])
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == "grün\r\n".encode()
    assert names(tmp_path / "a" / "b") == ["c.txt"]


def test_an_existing_file_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(OutputError, match="exists already; the option force"):
        write_text(path, "new")
    with pytest.raises(OutputError, match="exists already; the option force"):
        check_overwrite(path, False)
    assert path.read_text() == "old"
    check_overwrite(path, True)
    check_overwrite(tmp_path / "new.txt", False)
    write_text(path, "new", force=True)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["a.txt"]


def test_a_file_that_appears_meanwhile_stays(tmp_path):
    path = tmp_path / "a.txt"

    def slowly():
        yield b"ours"
        path.write_text("theirs")

    with pytest.raises(OutputError, match="the option force"):
        write_bytes(path, slowly())
    assert path.read_text() == "theirs"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_of_two_writers_one_wins_whole(tmp_path, monkeypatch, links):
    if not links:

        def no_link(*_: object) -> None:
            raise OSError(errno.EPERM, "no hard links here")

        monkeypatch.setattr(os, "link", no_link)
    path, wins, start = tmp_path / "a.bin", [], threading.Barrier(8)

    def work(n: int) -> None:
        start.wait()
        try:
            write_bytes(path, [bytes([n]) * 1000] * 50)
            wins.append(n)
        except OutputError:
            pass

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wins) == 1
    assert path.read_bytes() == bytes(wins) * 50_000
    assert names(tmp_path) == ["a.bin"]


def test_an_error_meanwhile_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def broken():
        yield b"half"
        raise KeyError

    with pytest.raises(KeyError):
        write_bytes(path, broken(), force=True)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"^cannot write .*a\.txt: No space left on device; free some space .*$"):
        write_text(tmp_path / "a.txt", "x")
    assert names(tmp_path) == []


def test_folders_and_files_in_the_way(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="is a folder"):
        write_text(tmp_path, "x", force=True)
    with pytest.raises(OutputError, match="cannot write"):
        write_text(tmp_path / "file" / "a.txt", "x")


WRITING = (
    "import sys, time; from pathlib import Path; from iconotext.system.files import open_atomic\n"
    "with open_atomic(Path(sys.argv[1]), force=True) as file:\n"
    "    file.write(b'half'); file.flush(); print('ready', flush=True); time.sleep(3600)"
)


@contextmanager
def another_writer(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the middle of writing a file."""
    with subprocess.Popen([sys.executable, "-c", WRITING, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"ready"
        yield process
        process.kill()


@pytest.mark.kill
def test_kill_while_writing_leaves_the_old_file_and_nothing_for_ever(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    users = [".iconotext-notes.tmp", ".iconotext-0123456789abcdef.tmp.bak", "iconotext-0123456789abcdef.tmp"]
    for name in users:
        (tmp_path / name).write_text("the user's own")
    with another_writer(path) as killed:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert path.read_text() == "old"
    left = set(names(tmp_path)) - {"a.txt", *users}
    assert len(left) == 1
    with another_writer(tmp_path / "b.txt"):  # which removes what was left, and whose own file is not ours to remove
        (living,) = set(names(tmp_path)) - {"a.txt", *users}
        assert living not in left
        subprocess.run([sys.executable, "-c", WRITE_ONE, str(tmp_path / "c.txt")], check=True)
        assert names(tmp_path) == sorted([*users, living, "a.txt", "c.txt"])


WRITE_ONE = "import sys; from pathlib import Path; from iconotext.system.files import write_text; write_text(Path(sys.argv[1]), '')"


def test_a_link_with_the_name_of_a_temporary_file_leads_to_no_harm(tmp_path):
    (tmp_path / "precious").write_text("x")
    (tmp_path / ".iconotext-0123456789abcdef.tmp").symlink_to("precious")
    (tmp_path / ".iconotext-0123456789abcde0.tmp").mkdir()
    write_text(tmp_path / "a.txt", "x")
    assert len(names(tmp_path)) == 4
    assert (tmp_path / "precious").read_text() == "x"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_text(pipe, "through")
    reader.join(300)
    assert read == [b"through"]


def test_a_locked_folder_is_told_with_the_message_and_error_that_are_given(tmp_path):
    lock = tmp_path / "new" / "lock"
    told = pytest.raises(SettingError, match=rf"^{re.escape(str(lock.parent))}: busy; wait$")
    with locked(lock, "first"), told, locked(lock, "busy; wait", SettingError):
        pytest.fail("two hold it")
    with pytest.raises(KeyError), locked(lock, "first"):
        raise KeyError
    with locked(lock, "second"):  # it ends with an error, too
        assert lock.is_file()
    with pytest.raises(OutputError, match=r"^cannot write .*lock.child: "), locked(lock / "child", "busy"):
        pytest.fail("held in a file")
