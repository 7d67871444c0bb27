"""The results of a search as one HTML file that contains small pictures and makes no network requests.

``write_search_page`` writes the file. ``card`` makes the data of one result; the server's search page uses it, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from iconotext.library.candidates import Filters
from iconotext.library.commit import THUMBNAIL
from iconotext.library.items import from_here, member_content
from iconotext.library.search import Query, Result, firm_results, has_good_match
from iconotext.library.store import Library
from iconotext.plain_text import percent, readable, shortened
from iconotext.relations import RELATIONS, short_name
from iconotext.report.embedded import LONGER_SIDE, Embedded, embed
from iconotext.report.page import breakable, filled
from iconotext.system.files import write_text
from iconotext.types import Image

LARGE = 50
"""With at most this many results the page contains enlarged pictures too; with more it would be too large."""

LONGEST = 240
"""Longest caption or sentence on the page, in characters."""


def results_page(library: Library, query: Query, results: Sequence[Result]) -> str:
    """Return an HTML page with the results of a search, best first."""
    images = _images(library, results)
    examples = [Path(query.picture)] if isinstance(query.picture, Path) else []
    example = embed([Image("", file) for file in examples], range(len(examples)), longer_side=THUMBNAIL).get(0)
    return filled(
        "iconotext.library",
        "search.html",
        title=readable(query.text) if query.text else "Pictures like this one",
        styles=["search.css", "cards.css"],
        example=example,
        relation=None if query.relation is None else short_name(query.relation),
        meaning=next((relation.meaning for relation in RELATIONS if relation.name == query.relation), ""),
        filters=_filters(query.filters),
        library=readable(library.path.resolve().name),
        good=has_good_match(results),
        firm=firm_results(results),
        breakable=breakable,
        cards=[
            card(
                result,
                query,
                picture=picture,
                place=readable(result.image),
                link=_address(result.file) or (result.image if re.match("https?://", result.image) else None),
                document=None if result.document is None else readable(_document_name(result.document)),
                document_link=_address(result.document),
            )
            for result, picture in zip(results, images, strict=True)
        ],
    )


def write_search_page(
    path: Path, library: Library, query: Query, results: Sequence[Result], *, force: bool = False
) -> None:
    """Write the results of a search as a page.

    Raises:
        OutputError: The file exists and ``force`` is not set, or it cannot be written.
    """
    write_text(path, results_page(library, query, results), force=force)


def _images(library: Library, results: Sequence[Result]) -> list[Embedded]:
    images = [Image("", _picture(result)) for result in results]
    embedded = embed(images, range(len(images)), longer_side=LONGER_SIDE if len(images) <= LARGE else THUMBNAIL)
    missing = [number for number, picture in embedded.items() if picture.uri is None]
    items = library.items(results[number].digest for number in missing)
    for number in missing:
        if (item := items.get(results[number].digest)) is not None and item.thumbnail is not None:
            embedded[number] = Embedded(item.thumbnail)
    return [embedded[number] for number in range(len(results))]


def _picture(result: Result) -> Path | bytes | None:
    if result.file is not None:
        return Path(result.file)
    return None if result.member is None else member_content(result.member, result.digest)


def card(
    result: Result,
    query: Query,
    *,
    picture: Embedded | Mapping[str, object],
    place: str,
    document: str | None,
    document_link: str | None,
    link: str | None = None,
    large: str | None = None,
    alike: str | None = None,
) -> dict[str, Any]:
    """Return the data of a result for the template ``cards.html``.

    Args:
        picture: Has ``uri``, ``width`` and ``height`` (0 if unknown), and ``problem`` if it has no ``uri``.
        place: Where the picture is, in words.
        document: Name of the document that shows it; None without one.
        document_link: Address of the document for a browser; None if it has none.
        link: Address of the picture for a browser.
        large: Address of the enlarged picture; None if ``uri`` is large enough.
        alike: Address of a search for similar pictures.
    """
    chance = None if query.relation is None else result.relations.get(query.relation)
    name = readable(_name(result))
    return {
        "picture": picture,
        "alt": readable(result.alt or result.caption or name),
        "name": name,
        "place": place,
        "link": link,
        "large": large,
        "alike": alike,
        "level": None if result.match is None else result.match.level,
        "why": f"likeness {result.similarity:.2f}" if result.match is None else readable(result.match.why),
        "relation": None if chance is None else f"{short_name(query.relation or '')} {percent(chance)}",
        "date": None if result.date is None else f"{result.date:%Y-%m-%d}",
        "document": document,
        "document_link": document_link,
        "caption": None if result.caption is None else shortened(readable(result.caption), LONGEST),
        "written": None if result.written is None else shortened(readable(result.written), LONGEST // 2),
        "sentences": [shortened(readable(linked.text), LONGEST) for linked in result.sentences],
        "places": result.places,
    }


def _document_name(document: str) -> str:
    """A path relative to the working folder if below it; else folder and name only, since pages are passed on."""
    relative = from_here(document)
    return relative if relative != document else "/".join(Path(document).parts[-2:])


def _address(file: str | None) -> str | None:
    return Path(file).as_uri() if file is not None and os.path.isfile(file) else None


def _name(result: Result) -> str:
    if result.file is not None:
        return Path(result.file).name
    return result.image.rsplit("/", 1)[-1] or result.image


def _filters(filters: Filters) -> str:
    parts = []
    if filters.folder is not None:
        parts.append(f"in {readable(filters.folder)}")
    if filters.since is not None:
        parts.append(f"from {filters.since:%Y-%m-%d}")
    if filters.before is not None:
        parts.append(f"until {filters.before - timedelta(days=1):%Y-%m-%d}")  # the day before is the last one
    return ", ".join(parts)
