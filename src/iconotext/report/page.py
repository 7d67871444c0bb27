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


def filled(package: str, template: str, *, style: str | Sequence[str], **context: object) -> str:
    """A page.

    Args:
        package: In whose folder ``templates`` the files lie.
        template: The template; a name that it uses and ``context`` lacks is an error.
        style: The style sheet, or several that become one, given to the template as ``style``, with its hash as
            ``style_hash``.
        context: Everything else that the template shows.
    """
    css = "".join(asset(package, name) for name in ([style] if isinstance(style, str) else style))
    page = _environment(package).get_template(template).render(style=css, style_hash=policy_hash(css), **context)
    return page if page.endswith("\n") else page + "\n"


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
        loader=jinja2.FunctionLoader(lambda name: asset(package, name)),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
