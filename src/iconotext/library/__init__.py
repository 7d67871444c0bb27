"""Libraries: pictures to search by sentence, by picture and by relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.system.lazy import lazy

if TYPE_CHECKING:
    from iconotext.library.candidates import Filters, Match, make_filters
    from iconotext.library.commit import Report
    from iconotext.library.results_page import write_search_page
    from iconotext.library.search import Answer, Query, Result, Searcher, find_images, pictures_for
    from iconotext.library.store import Library, describe, open_library
    from iconotext.library.update import add_paths, remove_from_library

__all__ = [
    "Answer",
    "Filters",
    "Library",
    "Match",
    "Query",
    "Report",
    "Result",
    "Searcher",
    "add_paths",
    "describe",
    "find_images",
    "make_filters",
    "open_library",
    "pictures_for",
    "remove_from_library",
    "write_search_page",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Answer": "iconotext.library.search",
        "Filters": "iconotext.library.candidates",
        "Library": "iconotext.library.store",
        "Match": "iconotext.library.candidates",
        "Query": "iconotext.library.search",
        "Report": "iconotext.library.commit",
        "Result": "iconotext.library.search",
        "Searcher": "iconotext.library.search",
        "add_paths": "iconotext.library.update",
        "describe": "iconotext.library.store",
        "find_images": "iconotext.library.search",
        "make_filters": "iconotext.library.candidates",
        "open_library": "iconotext.library.store",
        "pictures_for": "iconotext.library.search",
        "remove_from_library": "iconotext.library.update",
        "write_search_page": "iconotext.library.results_page",
    },
)
