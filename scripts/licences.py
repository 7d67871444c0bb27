"""List the licences of a bill of materials, and fail where one is unknown or copyleft without a word about it.

    python scripts/licences.py SBOM.json [SITE-PACKAGES]

SBOM.json is CycloneDX, made with the texts of the licences. The folder, if given, is searched for copyleft libraries
that wheels carry inside, of which their metadata says nothing.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PERMISSIVE = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 CNRI-Python HPND ISC LLVM-exception MIT MIT-CMU "
    "OLDAP-2.8 PSF-2.0 Python-2.0 Unicode-3.0 Unlicense Zlib".split()
) | {
    "License :: OSI Approved :: Apache Software License",
    "License :: OSI Approved :: BSD License",
    "License :: OSI Approved :: MIT License",
}
"""Ask for no more than that their notice is kept."""

COPYLEFT = re.compile(r"GNU (?:LESSER |LIBRARY |AFFERO )?GENERAL PUBLIC LICENSE|\b[AL]?GPL-?v?[23]", re.IGNORECASE)

CARRIED = re.compile(r"lib(x26[45]|heif|de265|gfortran|quadmath|gomp|gmp|mpfr|readline|avcodec)\b")

RUNTIME = "GCC's runtime libraries, GPL-3.0 with the runtime exception, which lets any program link them"
WORDS = {
    "certifi": "MPL-2.0: binds changes to its own files; used as it is",
    "docutils": "public domain and BSD; the GPL is for its mode for Emacs, which is not in the wheel",
    "gensim": "LGPL-2.1: only with the extra word2vec, imported as a library, used as it is",
    "matplotlib": "PSF's; FreeType inside is under its own licence (FTL) by our choice, the other is GPL-2.0",
    "numpy": f"BSD-3-Clause; its wheel carries {RUNTIME}",
    "opencv-python-headless": "Apache-2.0, only with the extra ocr; its wheel carries FFmpeg (LGPL-2.1), which "
    f"anybody may replace, and {RUNTIME}",
    "overrides": "Apache-2.0, says its metadata in words of its own",
    "pathspec": "MPL-2.0: binds changes to its own files; used as it is",
    "pi-heif": "BSD-3-Clause; its wheel carries libheif and libde265 (LGPL-3.0), which anybody may replace",
    "protobuf": "BSD-3-Clause, says its metadata in words of its own",
    "pyclipper": "MIT, only with the extra ocr; Clipper inside is under Boost's licence (BSL-1.0); one of its "
    "classifiers names no licence",
    "pypandoc-binary": "MIT, only with the extra formats; its wheel carries pandoc "
    "(GPL-2.0 or later), a program of its own that is run and not linked",
    "pypdfium2": "BSD-3-Clause or Apache-2.0, as PDFium inside; the libraries in that are of like kinds",
    "resvg-py": "MIT, says its text; resvg inside is Apache-2.0 or MIT",
    "scikit-learn": f"BSD-3-Clause; its wheel carries {RUNTIME}",
    "scipy": f"BSD-3-Clause; its wheel carries {RUNTIME}",
    "shapely": "BSD-3-Clause, only with the extra ocr; its wheel carries GEOS (LGPL-2.1), which anybody may replace",
    "tld": "MPL-1.1 by our choice among three: binds changes to its own files; used as it is",
    "torch": f"BSD-3-Clause and others as permissive; its wheel carries {RUNTIME}",
    "tqdm": "MPL-2.0 and MIT: binds changes to its own files; used as it is",
    "transformers": "Apache-2.0, says its metadata in words of its own",
}
"""What somebody found on looking at a package that is unknown or copyleft."""


def main() -> None:
    """List, then say what lacks a word; status 1 if anything does."""
    components = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["components"]
    carried = dict(_carried(Path(sys.argv[2]))) if len(sys.argv) > 2 else {}
    missing = []
    for component in sorted(components, key=lambda c: c["name"].casefold()):
        name = re.sub(r"[-_.]+", "-", component["name"]).casefold()
        stated, doubts = _stated(component), [*_doubts(component), *carried.get(name, [])]
        print(f"{component['name']} {component['version']}: {'; '.join(stated) or 'none stated'}")
        for doubt in doubts:
            print(f"    {doubt}: {WORDS.get(name, 'NOBODY HAS LOOKED AT IT')}")
        if doubts and name not in WORDS:
            missing.append(name)
    print(f"{len(components)} packages, {len(missing)} in doubt that nobody has looked at")
    if missing:
        sys.exit(
            f"{', '.join(missing)}: look at each, and write what you found into WORDS of scripts/licences.py, or do "
            "without the package"
        )


def _stated(component: dict[str, Any]) -> list[str]:
    """What its metadata says: SPDX identifiers and expressions, classifiers."""
    found = []
    for entry in component.get("licenses", []):
        licence = entry.get("license", {})
        name = entry.get("expression") or licence.get("id") or licence.get("name", "")
        if name and not name.startswith(("declared license of", "declared license file")):  # a text, which has no name
            found.append(name)
    return found


def _doubts(component: dict[str, Any]) -> Iterator[str]:
    stated = _stated(component)
    if not stated:
        yield "no licence is stated"
    for name in stated:
        if not _is_permissive(name):
            yield f"not permissive: {name}"
    if any(COPYLEFT.search(text) for text in _texts(component)):
        yield "a text of its licences speaks of the GPL"


def _is_permissive(name: str) -> bool:
    if name in PERMISSIVE:
        return True
    choices = name.replace("(", "").replace(")", "").split(" OR ")
    return any(all(part in PERMISSIVE for part in re.split(r" AND | WITH ", choice)) for choice in choices)


def _texts(component: dict[str, Any]) -> Iterator[str]:
    for entry in component.get("licenses", []):
        text = entry.get("license", {}).get("text", {})
        content = text.get("content", "")
        yield base64.b64decode(content).decode(errors="replace") if text.get("encoding") == "base64" else content


def _carried(packages: Path) -> Iterator[tuple[str, list[str]]]:
    """Packages by name, each with the copyleft libraries that lie in its wheel's folder for libraries."""
    for folder in [*packages.glob("*.libs"), *packages.glob("*/.dylibs"), *packages.glob("*/lib")]:
        name = (folder.parent.name if folder.parent != packages else folder.stem).replace("_", "-").casefold()
        found = sorted({match[0] for file in folder.iterdir() if (match := CARRIED.match(file.name))})
        if found:
            yield name, [f"carries {', '.join(found)}"]


if __name__ == "__main__":
    main()
