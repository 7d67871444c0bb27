"""What somebody waits for who has nothing yet: the install, the demo's page, the first links; and what it takes.

    python benchmarks/install.py [CHECKOUT ...] [--runs 5]
    python benchmarks/install.py --size

``--size`` prints only how large an environment is in which ``pip install`` has put the wheel of this checkout and
nothing else, in MiB on the disk, as ``du -sm`` counts them: the number in README.

Each checkout (this one by default; name an older one too, and they take turns) is cloned into an empty folder and
``scripts/demo`` runs there with an empty home: seconds until the page is there, packages downloaded included, and the
size of the environment. Then ``iconotext link`` on the demo (11 pictures, 64 sentences) in new processes: with an empty
cache of features, and with a full one; wall seconds, CPU seconds, peak memory of its largest process, and imports,
which are the sum that Python itself reports (``-X importtime``). Medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

LINK = ["link", "demo/article.md", "--force"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", action="store_true")
    arguments = parser.parse_args()
    if arguments.size:
        with tempfile.TemporaryDirectory() as name:
            print(f"{size_alone(Path(__file__).parents[1], Path(name)):.0f} MiB")
        return
    with tempfile.TemporaryDirectory() as name:
        clones = [Path(name) / str(number) for number in range(len(arguments.checkouts))]
        found = [installed(each.resolve(), clone) for each, clone in zip(arguments.checkouts, clones, strict=True)]
        for way, first in (("cold", True), ("cached", False)):
            for values, several in zip(found, in_turns(clones, arguments.runs, first), strict=True):
                values |= {f"{way} link, {what}": median(column) for what, column in several.items()}
    for what in found[0]:
        print(f"{what:34}", *(f"{values[what]:10.2f}" for values in found))


def size_alone(checkout: Path, folder: Path) -> float:
    """MiB on the disk of a new environment with the wheel of a checkout and what it always needs."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(checkout)]
    subprocess.run(build, stdout=subprocess.DEVNULL, check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "alone")], check=True)
    subprocess.run([str(folder / "alone/bin/python"), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    files = {(found.st_dev, found.st_ino): found.st_blocks for found in map(Path.lstat, (folder / "alone").rglob("*"))}
    return sum(files.values()) * 512 / 2**20


def installed(checkout: Path, clone: Path) -> dict[str, float]:
    """Clone it, and let ``scripts/demo`` do everything."""
    subprocess.run(["git", "clone", "--quiet", str(checkout), str(clone)], check=True)
    (clone / "home").mkdir()
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ICONOTEXT", "PYTHONPATH", "XDG"))
    }
    start = time.perf_counter()
    subprocess.run(
        ["scripts/demo"], cwd=clone, env=kept | {"HOME": str(clone / "home")}, stdout=subprocess.DEVNULL, check=True
    )
    seconds = time.perf_counter() - start
    if not (clone / "demo/linked/article.html").is_file():
        sys.exit(f"{checkout}: scripts/demo wrote no page")
    size = sum(path.lstat().st_size for path in (clone / ".venv").rglob("*"))
    return {"to the demo's page, s": seconds, "environment, MB": size / 1e6}


def in_turns(clones: list[Path], runs: int, first: bool) -> list[dict[str, list[float]]]:
    """What linking takes in each clone; ``first``: with an empty cache each time."""
    found: list[dict[str, list[float]]] = [defaultdict(list) for _ in clones]
    for number in range(runs):
        for clone, columns in zip(clones, found, strict=True):
            cache = clone / ("fresh" if first else "kept")
            if first:
                shutil.rmtree(cache, ignore_errors=True)
            elif not number:
                link(clone, cache)
            for what, value in link(clone, cache).items():
                columns[what].append(value)
            columns["imports, s"].append(imports(clone, cache))
    return found


def link(clone: Path, cache: Path) -> dict[str, float]:
    """One run."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(clone / ".venv/bin/iconotext"), *LINK],
        cwd=clone,
        env=os.environ | {"ICONOTEXT_CACHE": str(cache), "PYTHONPATH": ""},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{clone}: link failed")
    seconds = time.perf_counter() - start
    return {"s": seconds, "CPU s": used.ru_utime + used.ru_stime, "peak memory, MB": used.ru_maxrss / 1e3}


def imports(clone: Path, cache: Path) -> float:
    """Seconds of imports."""
    done = subprocess.run(
        [str(clone / ".venv/bin/python"), "-X", "importtime", str(clone / ".venv/bin/iconotext"), *LINK],
        cwd=clone,
        env=os.environ | {"ICONOTEXT_CACHE": str(cache), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    own = [line.split(":", 1)[1].split("|")[0] for line in done.stderr.splitlines() if line.startswith("import time:")]
    return sum(int(microseconds) for microseconds in own[1:]) / 1e6  # the first line is the heading


if __name__ == "__main__":
    main()
