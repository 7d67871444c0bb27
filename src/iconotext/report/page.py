"""HTML pages from templates: values are escaped, and the page's security policy allows its own styles by their hash."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

PACKAGE = "iconotext.report"
"""The package with the template that every page extends, ``page.html``, and with the styles that all pages share."""


def filled(
    package: str, template: str, *, title: str, styles: Sequence[str], scripts: Sequence[str] = (), **context: object
) -> str:
    """Fill a template and return the page.

    Args:
        package: The package whose folder ``templates`` holds the files.
        template: The template; a name that it uses and ``context`` lacks is an error.
        styles: Style sheets, which follow those of all pages.
        scripts: Scripts, which become one.
    """
    style = asset(PACKAGE, "page.css") + "".join(asset(package, name) for name in styles)
    script = "".join(asset(package, name) for name in scripts)
    policy = {"style_hash": policy_hash(style), "script_hash": policy_hash(script) if script else None}
    page = environment(package, PACKAGE).get_template(template)
    return page.render(title=title, style=style, script=script, **policy, **context) + "\n"


@cache
def asset(package: str, name: str) -> str:
    """Return a file from the folder ``templates`` of a package, with the line ends that the browser hashes."""
    text = (resources.files(package) / "templates" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def policy_hash(text: str) -> str:
    """Return the source expression by which a content security policy allows a style or script inside the page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def policy_of(page: str) -> str:
    """Return the content security policy that a page names in its head, for a server to send along."""
    return page.split('<meta http-equiv="Content-Security-Policy" content="', 1)[1].split('"', 1)[0]


def breakable(name: str) -> Markup:
    """Return a file name that browsers may break after each punctuation mark."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([_/.-]+)", r"\1<wbr>", str(escape(name))))


@cache
def environment(*packages: str) -> jinja2.Environment:
    """Return a template environment for some packages, in which an undefined name is an error."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


HEAD = 4096
"""Bytes at the beginning of a page among which its digest stands."""

_GENERATOR = '<meta name="generator" content="iconotext">\n'
_SEAL = re.compile(rb'<meta name="iconotext-sha256" content="([0-9a-f]{64})">\n')


def sealed(page: str) -> str:
    """Return the page with a digest in its head of everything else in it."""
    digest = hashlib.sha256(page.encode()).hexdigest()
    head, generator, rest = page.partition(_GENERATOR)
    return f'{head}{generator}<meta name="iconotext-sha256" content="{digest}">\n{rest}'


def is_untouched(path: Path) -> bool:
    """Return whether a file is a page of iconotext that nobody changed since, so that it may be replaced or removed."""
    try:
        if path.is_symlink() or not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(HEAD)
            seal = _SEAL.search(head)
            if seal is None:
                return False
            digest = hashlib.sha256(head[: seal.start()] + head[seal.end() :])
            while piece := file.read(2**20):
                digest.update(piece)
    except OSError:
        return False
    return digest.hexdigest().encode() == seal[1]
