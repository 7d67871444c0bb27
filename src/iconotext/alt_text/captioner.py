"""A vision model on a server of the user's own, asked through the chat-completions protocol.

``Captioner`` asks it: several pictures at a time, again if the server is busy, within a limit of pictures,
and each question once, since replies are stored. Only the address that the user gave is asked; redirects are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.alt_text.prompt import Messages, Prompt
from iconotext.errors import CaptionerError, ImageError, SettingError, UnreachableError
from iconotext.plain_text import counted, readable, shortened
from iconotext.read.web.fetch import MOVED, PORTS, Answer, is_loopback, request
from iconotext.read.web.polite import Pace, Politeness, persistent
from iconotext.system.files import write_text
from iconotext.system.strict_json import parse_json
from iconotext.system.threads import in_threads

KEY = "ICONOTEXT_CAPTIONER_KEY"
"""Environment variable with the key of the server, if it wants one. It is in no file, message or argument."""

MAX_BYTES = 2**20
"""Maximum size of an answer."""

TRIES = 5
"""Tries for a picture; the server rests 2, 4, 8 and 16 seconds between them, or as long as it asks for."""

TIMEOUTS = 2
"""Timeouts after which a picture is given up; each costs up to ``CaptionerSettings.seconds``."""

FAILURES = 3
"""Pictures in a row whose answers are of no use, after which no more are asked."""

REFUSED = (401, 403, 404, 405, 407)
"""Statuses that every picture would get."""

SECRET = 12
"""Length from which a key is a secret that no reply may have in it; shorter ones ("none") are words."""

MOST_TOKENS = 10**9
"""Largest number of tokens that a server may say one reply took."""

QUOTED = 200
"""Characters of what a server says that a message quotes."""

GOES_ON = ", and the same command goes on from there"

Other = TypeVar("Other")


class CaptionerSettings(BaseModel):
    """Which vision model is asked, and within which limits; the command has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    url: str | None = None
    """Ask the vision model at this address for drafts. Its server speaks the chat-completions protocol, such as
    http://127.0.0.1:8080/v1; pictures and the text about them are sent there."""

    model: str | None = Field(None, min_length=1)
    """Name of the model on the server."""

    allow_remote: bool = False
    """Allow a captioner on another machine than this one."""

    max_pictures: int = Field(500, ge=0)
    """Most pictures that are sent. Stored answers do not count, and 0 takes only these."""

    answer_tokens: int = Field(300, ge=1)
    """Most tokens of one answer. A model that thinks first needs thousands."""

    requests: int = Field(10, ge=1, le=100)
    """Pictures sent at a time."""

    seconds: float = Field(300.0, gt=0)
    """Most seconds to wait for one picture. The time in which the server works on others counts."""

    @field_validator("url")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url)
            valid = parts.scheme in PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            valid = False
        if not valid or re.search(r"[\s\x00-\x1f]", url):
            raise ValueError("give an address such as http://127.0.0.1:8080/v1")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError(f"give the address alone; a key belongs into the variable {KEY}")
        return url


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of the model about a picture.

    Attributes:
        text: As it came, without the thoughts of a model that thinks first.
        complete: Whether the model ended by itself; else the limit of tokens cut the text off.
        tokens: Number of tokens of question and answer; None if the server does not say.
        refused: Whether the server says that the model declined, or that a filter held its answer back.
    """

    text: str
    complete: bool
    tokens: int | None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class NoReply:
    """A picture without a reply, and the reason; ``sent`` is false if it was not sent, as a limit was reached."""

    reason: str
    sent: bool = True


class Captioner:
    """A client of a vision model on a server. May be shared by threads.

    Args:
        settings: Address and name of the model, and the limits.
        folder: Where replies are stored; None for a folder beside the cache of features.
        pace: Makes requests wait, for tests.

    Attributes:
        address: The address to which questions are sent.
        host: The name of the server.
        is_remote: Whether it is another machine.
        sent: Number of pictures that were sent.
        stored: Number of replies that were there from before.
        tokens: Number of tokens that the server counted.

    Raises:
        SettingError: The address or the model is missing, or the server is another machine without ``allow_remote``.
    """

    def __init__(self, settings: CaptionerSettings, *, folder: Path | None = None, pace: Pace | None = None) -> None:
        from iconotext.features.cache import cache_folder

        if settings.url is None or settings.model is None:
            raise SettingError("a captioner is an address and the name of a model: give both")
        parts = urlsplit(settings.url)
        self.host, self.is_remote = parts.hostname or "", not is_loopback(parts.hostname or "")
        if self.is_remote and not settings.allow_remote:
            raise SettingError(
                f"{self.host} is another machine: pictures and text would leave this one; allow_remote=True allows it"
            )
        self.settings = settings
        self.address = _completions(settings.url)
        self.sent = self.stored = self.tokens = 0
        self._model = settings.model
        self._key = _key()
        self._folder = folder or cache_folder() / "captioner"
        self._pace = pace or Pace(time.monotonic, time.sleep)
        self._politeness = Politeness(tries=TRIES, patience=120.0)
        self._lock = threading.Lock()
        self._answered = threading.Event()
        self._ended = threading.Event()

    @property
    def name(self) -> str:
        """Name of the model, and of its machine if that is another one."""
        return f"{self._model} at {self.host}" if self.is_remote else self._model

    def ask(self, messages: Messages) -> Reply | NoReply:
        """Send the messages of a ``Prompt``; errors and stored replies as for ``ask_all``."""
        body = self._body(messages)
        self._ended.clear()
        return self._reply_or_limit(body) or self._send(body)

    def ask_all(self, items: Iterable[Prompt | Other]) -> Iterator[tuple[Prompt | Other, Reply | NoReply | None]]:
        """Yield each prompt with its reply, in order, and anything else with None.

        A reply is on disk before it is counted, so that a run which was stopped goes on from there.

        Args:
            items: Taken a little ahead of the replies.

        Raises:
            CaptionerError: The server cannot be reached or refuses, or ``FAILURES`` pictures in a row have no reply.
        """
        failures = 0
        self._ended.clear()
        for item, reply in in_threads(self._work, self._prepared(items), threads=self.settings.requests):
            if isinstance(reply, Reply):
                failures = 0
            elif isinstance(reply, NoReply) and reply.sent:
                failures += 1
                if failures == FAILURES:
                    self._ended.set()
                    raise self._error(f"{FAILURES} pictures in a row have no reply; the last one: {reply.reason}")
            yield item, reply

    def _prepared(self, items: Iterable[Prompt | Other]) -> Iterator[_Job]:
        """Look replies up and count pictures, in order, so that a limit always leaves out the same pictures."""
        for item in items:
            if not isinstance(item, Prompt):
                yield item, None, None
                continue
            if item.problem is not None:
                yield item, None, NoReply(item.problem, sent=False)
                continue
            body = self._body(item.messages)
            yield item, body, self._reply_or_limit(body)

    def _reply_or_limit(self, body: bytes) -> Reply | NoReply | None:
        """Return the stored reply, or the limit that forbids to ask; None after the picture was counted as sent."""
        reply = self._stored(body)
        if reply is not None:
            self.stored += 1
            return reply
        with self._lock:
            if self.sent >= self.settings.max_pictures:
                limit = counted(self.settings.max_pictures, "picture")
                return NoReply(f"the limit of {limit} is reached{GOES_ON}", sent=False)
            self.sent += 1
        return None

    def _work(self, job: _Job) -> tuple[Any, Reply | NoReply | None]:
        item, body, reply = job
        return item, reply if body is None or reply is not None else self._send(body)

    def _send(self, body: bytes) -> Reply | NoReply:
        timeouts = 0

        def ask() -> Answer:
            nonlocal timeouts
            begin = time.monotonic()
            try:
                return self._request(body)
            except UnreachableError as error:
                # A refused connection may be tried more often: it costs no time.
                timeouts += time.monotonic() - begin >= self.settings.seconds
                if timeouts == TIMEOUTS:
                    raise ImageError(str(error)) from error  # which is not tried again
                raise

        try:
            if self._ended.is_set():
                return NoReply("the run has ended", sent=False)
            answer = persistent(ask, self.host, self._pace, self._politeness, interval=0.0, delay=1.0)
            reply = self._reply(answer)
            self._answered.set()
            with self._lock:
                self.tokens += reply.tokens or 0
            write_text(self._file(body), json.dumps(asdict(reply)), force=True)
            return reply
        except ImageError as error:
            return NoReply(f"no answer ({str(error).removeprefix('not fetched').lstrip(': ')})")
        except _Useless as error:
            return NoReply(self._clean(str(error)))
        except CaptionerError:
            self._ended.set()  # before the next picture is sent
            raise

    def _body(self, messages: Messages) -> bytes:
        content = {
            "model": self._model,
            "messages": messages,
            "max_tokens": self.settings.answer_tokens,
            "temperature": 0,
            "stream": False,
        }
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")

    def _request(self, body: bytes) -> Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            return request(
                "POST",
                self.address,
                headers=headers,
                lookup=self._lookup,
                deadline=time.monotonic() + self.settings.seconds,
                silence=self.settings.seconds,
                max_bytes=MAX_BYTES,
                body=body,
                errors=True,
            )
        except UnreachableError as error:
            from urllib3.exceptions import NewConnectionError

            if isinstance(error.__cause__, NewConnectionError) and not self._answered.is_set():
                raise self._error("nothing answers there: start the server, or correct the address") from error
            raise

    def _lookup(self, host: str, port: int) -> str:
        try:
            addresses = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            raise self._error(f"the name {host} cannot be looked up") from error
        if not self.is_remote and not all(map(is_loopback, addresses)):
            raise self._error(f"{host} resolves to another machine: {', '.join(addresses)}")
        # Most of these servers listen to IPv4 only, while ``localhost`` is often IPv6 first.
        return min(addresses, key=lambda address: ":" in address)

    def _reply(self, answer: Answer) -> Reply:
        """Return the reply in an answer.

        Raises:
            CaptionerError: The server refuses, and would refuse every picture.
            _Useless: There is no reply in it.
        """
        if answer.status in MOVED:
            raise self._error("it leads elsewhere (a redirect), where nothing is sent: give the address itself")
        if answer.status != 200:
            message = f"it answered {answer.status}{_error_text(answer)}"
            raise self._error(message) if answer.status in REFUSED else _Useless(message)
        kind = (answer.headers.get("Content-Type") or "nothing").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise _Useless(f"it sent {kind}, not JSON: is it the address of a chat-completions server?")
        try:
            reply = _parsed(parse_json(answer.body))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise _Useless("it sent something that is no chat completion") from error
        if len(self._key) >= SECRET and self._key in reply.text:
            raise _Useless("its reply quotes the key, so it is not used")
        return reply

    def _file(self, body: bytes) -> Path:
        # Servers of one model often ignore its name, so the address counts, too.
        return self._folder / f"{hashlib.sha256(self.address.encode() + b' ' + body).hexdigest()}.json"

    def _stored(self, body: bytes) -> Reply | None:
        try:
            fields = parse_json(self._file(body).read_bytes())
            refused = fields.get("refused") is True
            return Reply(str(fields["text"]), fields["complete"] is True, fields["tokens"], refused)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def _error(self, message: str) -> CaptionerError:
        stored = f"; the replies so far are stored{GOES_ON}" if self._answered.is_set() else ""
        return CaptionerError(self._clean(f"{self.address}: {message}{stored}"))

    def _clean(self, message: str) -> str:
        """Return a message without the key, which a server may quote."""
        return message.replace(self._key, "[key]") if self._key else message


_Job = tuple[Any, bytes | None, Reply | NoReply | None]
"""A prompt or another item, the body of its request, and the reply if nothing is to be sent."""


class _Useless(Exception):
    """An answer without a usable reply; other pictures may still get one."""


def _completions(url: str) -> str:
    """Return the address of a server's completions; ``url`` may be it, or its beginning."""
    url = url.rstrip("/")
    if url.endswith("/chat/completions"):
        return url
    return f"{url}{'' if urlsplit(url).path else '/v1'}/chat/completions"


def _key() -> str:
    key = os.environ.get(KEY, "")
    if key and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise SettingError(f"{KEY}: a key has no spaces, line ends or letters beyond ASCII")
    return key


def _parsed(completion: Any) -> Reply:
    choice = completion["choices"][0]
    refusal = choice["message"].get("refusal")
    text = refusal or choice["message"]["content"]
    if not isinstance(text, str):
        raise TypeError("no text")
    # A reply that was cut off while the model thought has no end of its thoughts, and nothing after it.
    text = re.sub(r"<think>.*?(?:</think>|\Z)", "", text, flags=re.DOTALL)
    usage = completion.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    counts = isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens <= MOST_TOKENS
    ended = choice.get("finish_reason")
    refused = bool(refusal) or ended == "content_filter"
    return Reply(text, ended != "length", tokens if counts else None, refused)


def _error_text(answer: Answer) -> str:
    """Return what a server says of an error, to be put behind its status; empty if it says nothing."""
    text = answer.body.decode("utf-8", "replace")
    try:
        error = parse_json(text)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (ValueError, LookupError, TypeError):
        pass
    text = " ".join(readable(str(text)).split())
    return f": {shortened(text, QUOTED)}" if text else ""
