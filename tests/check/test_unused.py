"""The rule for picture files that no document shows."""

from __future__ import annotations

import pytest

from iconotext.check import CheckSettings, check
from iconotext.read import ReadSettings

NAMES = ["shown.png", "My Map.png", "wide.webp", "left.png", "left (1).jpg"]


@pytest.fixture
def site(tmp_path):
    (tmp_path / "img").mkdir()
    for name in NAMES:
        (tmp_path / "img" / name).touch()
    (tmp_path / "a.md").write_text("![A tram](img/shown.png) and ![The lines](<img/My Map.png>)\n")
    (tmp_path / "b.html").write_text(
        "<p>Far out.<img alt='A bus at night' src='img/shown.png' srcset='img/wide.webp 900w'>"
    )
    return tmp_path


def test_what_no_document_shows(site):
    checked = check([site], CheckSettings(rules=("file-unused",)), root=site)
    assert [(finding.source, finding.place.path) for finding in checked.findings] == [
        (name, (site / "img" / name).as_posix()) for name in ("left (1).jpg", "left.png")
    ]


def test_only_who_names_the_rule_gets_it(site):
    assert check([site]).findings == ()
    assert check([site], CheckSettings(rules=("file",))).findings == ()


def test_files_that_the_user_excludes(site):
    checked = check([site], CheckSettings(rules=("file-unused",)), ReadSettings(exclude=("img/left*",)))
    assert checked.findings == ()
