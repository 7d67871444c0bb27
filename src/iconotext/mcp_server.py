"""A server of the Model Context Protocol over stdio: a language model asks about the documents of one folder.

Its tools are ``link``, ``context``, ``search`` and ``place``. They can read only files in that folder: a path must not
be absolute, go up (``..``) or follow a link, and pictures and models are restricted to the folder too. Nothing is
downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from pathlib import Path, PurePosixPath, PureWindowsPath
from threading import Lock
from typing import Annotated, Any

from pydantic import Field

from iconotext import __version__
from iconotext.decide.settings import LinkSettings
from iconotext.errors import IconotextError, OutsideError, SettingError
from iconotext.excerpts import CONTEXT_WORDS
from iconotext.extras import require
from iconotext.features.model_folder import SHIPPED
from iconotext.library.search import Query, Searcher, pictures_for
from iconotext.library.settings import is_library, read_settings
from iconotext.linked import LinkedDocument
from iconotext.linker import Linker
from iconotext.place.output import placed
from iconotext.place.pictures import Given
from iconotext.place.settings import MIN_CONFIDENCE, PlaceSettings
from iconotext.place.text import text_document
from iconotext.plain_text import encodable
from iconotext.read import ReadSettings, find_documents, read
from iconotext.read.format import EXAMPLES
from iconotext.report.as_excerpts import row
from iconotext.report.as_json import plain_number
from iconotext.report.flow import links_by_image
from iconotext.report.relations import shown_relations

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ModuleNotFoundError:
    require("mcp", purpose="iconotext mcp")
    raise

LISTED = 50
"""Largest number of documents that an error lists."""

MOST = 50
"""Largest number of pictures that a search returns."""

INSTRUCTIONS = (
    "Tells which sentences of a document its pictures belong to (link), what the text says about each picture "
    "(context), finds pictures in a library (search), and places pictures in a text, such as your answer (place). "
    "Paths are relative to the folder that is served."
)

DocumentPath = Annotated[str, Field(description=f"A document ({EXAMPLES}, ...), relative to the folder.")]
Words = Annotated[
    int,
    Field(
        ge=1, le=5000, description="Most words of the sentences of a picture; characters in Chinese, Japanese, Korean."
    ),
]
Number = Annotated[int | None, Field(ge=0, description="Number of one picture, from 0; all without it.")]
LibraryPath = Annotated[str, Field(description="Folder of the library, relative to the folder that is served.")]
Text = Annotated[str, Field(min_length=1, max_length=2000, description="What the picture should fit, in a sentence.")]
Relation = Annotated[
    str | None, Field(description="How picture and sentence should stand: visible, story, result, ...; or any.")
]
Top = Annotated[int, Field(ge=1, le=MOST, description="How many pictures at most.")]
Markdown = Annotated[
    str, Field(min_length=1, max_length=100_000, description="The text that gets pictures, as Markdown.")
]
Sources = Annotated[
    list[str],
    Field(
        min_length=1,
        max_length=MOST,
        description="What the pictures come from: documents, libraries, folders, pictures, and the JSON that iconotext "
        "link, chunks or context wrote; relative to the folder.",
    ),
]
LeastConfidence = Annotated[float, Field(ge=0, le=1, description="Smallest probability that the paragraph is right.")]


class Served:
    """The served folder, with its model and the libraries that were searched.

    Raises:
        SettingError: The folder does not exist.
    """

    def __init__(self, root: Path, model: str = "default", linking: LinkSettings | None = None) -> None:
        if not root.is_dir():
            raise SettingError(f"{root}: no such folder; name the one whose documents may be read")
        self.root, self._model, self._linking = root.resolve(), model, linking
        self._lock = Lock()  # one question at a time: models are not thread-safe
        self._searchers: dict[Path, Searcher] = {}

    @cached_property
    def linker(self) -> Linker:
        """The linker, loaded when first used."""
        return Linker.load(self._model, self._linking)

    def inside(self, path: str) -> Path:
        """Return the file or folder at a path; ``OutsideError`` if the path is absolute, goes up or follows a link."""
        parts = PurePosixPath(path).parts
        if PurePosixPath(path).is_absolute() or PureWindowsPath(path).anchor or "\x00" in path:
            raise OutsideError(f"{path!r}: give a path relative to the folder that is served")
        if ".." in parts or ".." in PureWindowsPath(path).parts:
            raise OutsideError(f"{path!r}: a path with '..' may lead out of the folder that is served")
        file = self.root
        for part in parts:  # a link in the middle of the path leads out, too
            file /= part
            if file.is_symlink():
                raise OutsideError(f"{path!r}: goes through a link, which may lead out of the folder that is served")
        return file

    def linked(self, path: str) -> LinkedDocument:
        """Link a document of the folder."""
        file = self.inside(path)
        settings = ReadSettings(root=self.root)
        if file.is_dir():
            names = [self.name(file) for file, _ in find_documents([file], settings) if not file.is_symlink()]
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            raise SettingError(f"{path!r} is a folder; its documents are: {', '.join(names[:LISTED]) or 'none'}{more}")
        with self._lock:
            return self.linker.link(read(file, settings))

    def search(self, library: str, query: Query) -> dict[str, Any]:
        """Search a library of the folder, whose files and models must be there, too."""
        folder = self.inside(library)
        self._check_folder(folder)
        with self._lock:
            answer = self._searcher(folder).find(query)
        results = [result.as_json() for result in answer.results]
        for result in results:
            for name in ("image", "document"):
                result[name] = result[name] and self.name(Path(result[name]))
        return {"results": results, "note": answer.note}

    def place(self, text: str, pictures: Iterable[str], settings: PlaceSettings) -> dict[str, Any]:
        """Place pictures of the folder in a text."""
        reading, paths = ReadSettings(root=self.root), [self.inside(path) for path in pictures]
        for path in paths:
            self._check_folder(path)
        document = text_document(text)
        with self._lock:
            sources: list[Given] = []
            for path in paths:
                sources += pictures_for(document, self._searcher(path)) if is_library(path) else [path]
            linked = self.linker.place(document, sources, settings, reading)
        answer = placed(linked, self.root).model_dump()
        for entry in (*answer["placed"], *answer["left_out"]):
            entry["file"] = entry["file"] and self.name(Path(entry["file"]))
        return answer

    def _searcher(self, folder: Path) -> Searcher:
        if folder not in self._searchers:
            self._searchers = {folder: Searcher(folder)}  # only one library: its models take memory
        return self._searchers[folder]

    def _check_folder(self, folder: Path) -> None:
        """Check that a folder has no links, and that the models of a library are in the folder that is served."""
        if not folder.is_dir():
            return
        for top, folders, files in os.walk(folder):
            for name in (*folders, *files):
                self.inside(Path(top, name).relative_to(self.root).as_posix())
        if is_library(folder):
            settings = read_settings(folder)
            self._check_model(settings.model, SHIPPED)
            self._check_model(settings.relations_from, ("default", "none"))

    def _check_model(self, name: str, shipped: Iterable[str]) -> None:
        if name not in shipped and not Path(name).resolve().is_relative_to(self.root):
            raise OutsideError(
                f"the library was made with the model {name}, which is outside the folder that is served"
            )

    def name(self, path: Path) -> str:
        """Return the name of a file in answers, relative to the folder; what is not UTF-8 in it is replaced."""
        return encodable(path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path))


def server(served: Served) -> MCPServer[Any]:
    """Make the server with its tools; ``run("stdio")`` starts it."""
    server_: MCPServer[Any] = MCPServer(
        "iconotext", version=__version__, instructions=INSTRUCTIONS, subscriptions=False, log_level="ERROR"
    )

    def tool(function: Callable[..., Any]) -> None:
        """Register a tool; errors of iconotext are passed to the model, with paths relative to the folder."""

        @wraps(function)
        def answer(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except IconotextError as error:
                raise ToolError(str(error).replace(f"{served.root}{os.sep}", "")) from error

        server_.add_tool(answer)

    @tool
    def link(path: DocumentPath) -> dict[str, Any]:
        """Find which sentences of a document each of its pictures belongs to, and how sure that is."""
        linked = served.linked(path)
        return {"document": path, "pictures": _pictures(served, linked)}

    @tool
    def context(path: DocumentPath, words: Words = CONTEXT_WORDS, picture: Number = None) -> dict[str, Any]:
        """Say what a document tells about each of its pictures: headings, caption, and the sentences about it."""
        linked = served.linked(path)
        numbers = range(len(linked.document.images)) if picture is None else [picture]
        rows = [row(linked.context(number, words)) for number in numbers]
        for entry in rows:
            entry["file"] = entry["file"] and served.name(Path(entry["file"]))
            entry["document"] = path
        return {"document": path, "contexts": rows}

    @tool
    def search(library: LibraryPath, sentence: Text, relation: Relation = None, top: Top = 10) -> dict[str, Any]:
        """Find pictures of a library by their content and the texts about them; the best first."""
        return served.search(library, Query(sentence, relation=relation, top=top))

    @tool
    def place(
        text: Markdown, pictures: Sources, most: Top = 10, min_confidence: LeastConfidence = MIN_CONFIDENCE
    ) -> dict[str, Any]:
        """Place pictures in a text, each at its sentence or nowhere; returns it as Markdown, with the reasons."""
        return served.place(text, pictures, PlaceSettings(most=most, min_confidence=min_confidence))

    return server_


def _pictures(served: Served, linked: LinkedDocument) -> list[dict[str, Any]]:
    by_image, relations = links_by_image(linked), shown_relations(linked.links)
    pictures = []
    for number, image in enumerate(linked.document.images):
        sentences = [
            {
                "text": linked.document.sentences[link.sentence].text,
                "confidence": plain_number(link.confidence),
                "paragraph_confidence": plain_number(link.paragraph_confidence),
                "relations": [relation.name for relation, _ in relations[link.sentence, number]],
            }
            for link in by_image.get(number, ())
        ]
        pictures.append(
            {
                "picture": number,
                "source": image.source,
                "file": served.name(image.file) if isinstance(image.file, Path) else None,
                "caption": image.caption,
                "alt": image.alt,
                "problem": image.problem,
                "sentences": sentences,
            }
        )
    return pictures
