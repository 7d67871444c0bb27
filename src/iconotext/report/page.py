"""Pages out of templates: what is put in is escaped, and the policy in the page's head knows its style by its hash."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


PACKAGE = "iconotext.report"
BASE = "page.html"
"""The template that every page extends, and the package where it lies beside the styles that all pages share."""


def filled(
    package: str, template: str, *, title: str, styles: Sequence[str], scripts: Sequence[str] = (), **context: object
) -> str:
    """A page.

    Args:
        package: In whose folder ``templates`` the files lie.
        template: The template; a name that it uses and ``context`` lacks is an error.
        styles: Style sheets, which follow those of all pages.
        scripts: Scripts, which become one.
    """
    style = asset(PACKAGE, "page.css") + "".join(asset(package, name) for name in styles)
    script = "".join(asset(package, name) for name in scripts)
    policy = {"style_hash": policy_hash(style), "script_hash": policy_hash(script) if script else None}
    page = _environment(package).get_template(template)
    return page.render(title=title, style=style, script=script, **policy, **context) + "\n"


@cache
def asset(package: str, name: str) -> str:
    """A file from the folder ``templates`` of a package, with the line ends that the browser hashes."""
    text = (resources.files(package) / "templates" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def policy_hash(text: str) -> str:
    """What a content security policy calls a style or script that stands in the page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


@cache
def _environment(package: str) -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset(PACKAGE if name == BASE else package, name)),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
