"""A stand-in of the Hugging Face hub on this machine, with the few answers that fetching a model needs."""

import hashlib
import json
import re
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from tests.support.web import QuietHandler, on_loopback


class SmallHub:
    """Models by name, each with its commits, the newest last, from commit to folder.

    Attributes:
        requests: The requests that came, as method and path.
        lies: Paths inside models whose stated SHA-256 is of something else.
    """

    def __init__(self):
        self.models = {}
        self.requests = []
        self.lies = set()

    def add(self, name, folder):
        """Add a commit of a model: its 40 digits."""
        commits = self.models.setdefault(name, {})
        commit = hashlib.sha1(f"{name}{len(commits)}".encode()).hexdigest()
        commits[commit] = folder
        return commit

    def answer(self, method, address):
        """Status, headers and body of an answer."""
        path = unquote(urlsplit(address).path)
        self.requests.append((method, path))
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+))?", path):
            return self._listed(match[1], match[2], match[3])
        match = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        found = match and self._commit(match[1], match[2])
        if not found or not (found[1] / match[3]).is_file():
            return 404, {"X-Error-Code": "EntryNotFound" if found else "RepoNotFound"}, b""
        body = (found[1] / match[3]).read_bytes()
        digest = hashlib.sha256(body).hexdigest()
        return 200, {"ETag": f'"{digest}"', "X-Repo-Commit": found[0], "X-Linked-Size": str(len(body))}, body

    def _commit(self, name, revision):
        commits = self.models.get(name, {})
        commit = list(commits)[-1] if commits and revision in (None, "main") else revision
        return (commit, commits[commit]) if commit in commits else None

    def _listed(self, name, what, revision):
        if (found := self._commit(name, revision)) is None:
            code = "RevisionNotFound" if name in self.models else "RepoNotFound"
            return 404, {"X-Error-Code": code}, b"{}"
        commit, folder = found
        files = [self._stated(path, folder) for path in sorted(folder.rglob("*")) if path.is_file()]
        if what == "tree":
            tree = [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size, _ in files]
            return 200, {}, json.dumps(tree).encode()
        siblings = [
            {"rfilename": name, "size": size, "blobId": "0" * 40, **({"lfs": lfs} if lfs else {})}
            for name, size, lfs in files
        ]
        return 200, {}, json.dumps({"id": name, "modelId": name, "sha": commit, "siblings": siblings}).encode()

    def _stated(self, path, folder):
        name, body = path.relative_to(folder).as_posix(), path.read_bytes()
        digest = hashlib.sha256(b"other" if name in self.lies else body).hexdigest()
        large = {"sha256": digest, "size": len(body), "pointerSize": 130} if ".onnx" in name else None
        return name, len(body), large


@contextmanager
def serving(hub):
    """The address of a hub, while it answers."""

    class Handler(QuietHandler):
        def do_GET(self):
            status, headers, body = hub.answer(self.command, self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

    with on_loopback(Handler) as port:
        yield f"http://127.0.0.1:{port}"
