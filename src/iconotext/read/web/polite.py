"""Many requests without being a burden: spaced out for each host, and only what its robots.txt (RFC 9309) allows."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from protego import Protego

from iconotext.errors import ImageError, UnreachableError
from iconotext.read.web.fetch import (
    AGENT,
    MAX_BYTES,
    MAX_REDIRECTS,
    MAX_SECONDS,
    MOVED,
    Answer,
    Lookup,
    get,
    public_address,
    redirected,
)

MAX_READ = 500 * 2**10
"""Bytes of a robots.txt that are read, as many as RFC 9309 (2.5) wants at least; what follows is ignored."""

MAX_LINES = 20_000
"""Lines of a robots.txt that are read; what follows is ignored."""


def parse_robots(body: bytes, agent: str) -> Protego:
    """The rules of a robots.txt for one robot and for everybody.

    All other robots are given the same name. Protego keeps the rules of a group for each robot that it names, and a
    file of thousands of names would make it keep millions of rules.

    Args:
        body: The file; only its first ``MAX_READ`` bytes and ``MAX_LINES`` lines are read.
        agent: Our name, a word without a version, under which Protego is asked for rules and delay.
    """
    other = re.compile(rf"\s*user(?:-|\s*)agent[\s:]++(?!(?:\*|{re.escape(agent)})\s*(?:#|$))", re.IGNORECASE)
    lines = _text(body).removeprefix("\ufeff").splitlines()[:MAX_LINES]
    return Protego.parse("\n".join("User-agent: -" if other.match(line) else line for line in lines))


def _text(body: bytes) -> str:
    """The text of the whole lines within the first ``MAX_READ`` bytes.

    A line that is cut short is left out: the beginning of a path means more than the path.
    """
    if len(body) > MAX_READ:
        body = body[: max(body.rfind(end, 0, MAX_READ) for end in (b"\n", b"\r")) + 1]
    return body.decode("utf-8", "replace")


BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 530)
"""Statuses of a server that may answer later."""

KINDS = ("image/", "application/octet-stream", "binary/octet-stream")
"""Content types that may be an image."""


@dataclass(frozen=True, slots=True)
class Politeness:
    """How to behave towards servers.

    Attributes:
        interval: Seconds between two requests to one host; its robots.txt may ask for more.
        tries: How often an address is asked for that gives no answer, or says that its server is busy.
        patience: Seconds that a host may ask us to wait; one that asks for more is left for another time.
        max_bytes: Of an image.
        max_seconds: For one request.
        robots: Whether robots.txt is obeyed; switch it off only for hosts of your own.
    """

    interval: float = 1.0
    tries: int = 3
    patience: float = 120.0
    max_bytes: int = MAX_BYTES
    max_seconds: float = MAX_SECONDS
    robots: bool = True


class Pace:
    """Lets requests to each host wait for their turn; several threads may share one.

    Args:
        clock: Seconds, as ``time.monotonic``.
        sleep: Waits for some seconds.
    """

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._clock = clock
        self._sleep = sleep
        self._free: dict[str, float] = {}  # by host: when the next request may go out
        self._lock = threading.Lock()

    def wait(self, host: str, interval: float) -> None:
        """Wait for the host's turn; the next one comes ``interval`` seconds after it."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._free.get(host, now))
            self._free[host] = turn + interval
        if turn > now:
            self._sleep(turn - now)

    def rest(self, host: str, seconds: float) -> None:
        """Let no request go to a host for some seconds."""
        with self._lock:
            self._free[host] = max(self._free.get(host, 0.0), self._clock() + seconds)


class PoliteFetcher:
    """Fetches images; several threads may share one, each host then still gets one request an interval.

    Args:
        lookup: From a host to the IP address to connect to; the default refuses all that are not public.
        clock: Seconds, as ``time.monotonic``.
        sleep: Waits for some seconds.
    """

    def __init__(
        self,
        politeness: Politeness | None = None,
        *,
        lookup: Lookup | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._politeness = politeness or Politeness()
        self._lookup = lookup or public_address
        self._pace = Pace(clock, sleep)
        self._robots: dict[str, Protego | ImageError] = {}
        self._site_locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def fetch(self, address: str) -> bytes:
        """The bytes of an image.

        Raises:
            UnreachableError: No answer, or a busy server, after all tries; another time there may be an image.
            ImageError: Refused, forbidden by robots.txt, not there, no image, too large, redirected too often.
        """
        address, answer = self.follow(address)
        kind = (answer.headers.get("Content-Type") or KINDS[0]).strip().casefold()
        if not kind.startswith(KINDS):
            raise ImageError(f"not fetched: {_host(address)} sent {kind.partition(';')[0][:60]}, not a picture")
        return answer.body

    def follow(self, address: str, *, accept: str = "image/*") -> tuple[str, Answer]:
        """What is at an address, and its address after all redirects.

        Raises:
            ImageError: As ``fetch``, but for what there is.
        """
        for _ in range(MAX_REDIRECTS + 1):
            host = _host(address)
            delay = 0.0
            if self._politeness.robots:
                rules = self._rules(address)
                if not rules.can_fetch(address, AGENT):
                    raise ImageError(f"not fetched: robots.txt of {host} forbids it")
                delay = rules.crawl_delay(AGENT) or 0.0
            answer = self._request(address, delay, accept=accept)
            if answer.status == 200:
                return address, answer
            if answer.status not in MOVED:
                raise ImageError(f"not fetched: {host} answered {answer.status}")
            address = redirected(address, answer)
        raise ImageError(f"not fetched: more than {MAX_REDIRECTS} redirects")

    def _request(self, address: str, delay: float, *, max_bytes: int | None = None, accept: str = "image/*") -> Answer:
        """The answer to a request, after some tries if need be."""
        politeness, host = self._politeness, _host(address)
        interval = max(politeness.interval, delay)
        if interval > politeness.patience:
            raise UnreachableError(f"not fetched: {host} asks for {interval:g} seconds between two requests")
        for left in reversed(range(max(politeness.tries, 1))):
            self._pace.wait(host, interval)
            rest = interval * 2 ** (politeness.tries - left)
            try:
                deadline = time.monotonic() + politeness.max_seconds
                answer = get(
                    address,
                    deadline=deadline,
                    max_bytes=max_bytes or politeness.max_bytes,
                    accept=accept,
                    lookup=self._lookup,
                )
            except UnreachableError:
                if not left:
                    raise
            else:
                if answer.status not in BUSY:
                    return answer
                rest = _seconds_to_wait(answer) or rest
                if not left or rest > politeness.patience:
                    raise UnreachableError(f"not fetched: {host} answered {answer.status}")
            self._pace.rest(host, rest)
        raise AssertionError("the last try returns or raises")

    def _rules(self, address: str) -> Protego:
        """The robots.txt of the site of an address; requested once, whether or not that succeeds."""
        site = _site(address)
        with self._lock:
            lock = self._site_locks.setdefault(site, threading.Lock())
        with lock:
            if site not in self._robots:
                try:
                    self._robots[site] = self._read_rules(f"{site}/robots.txt")
                except UnreachableError as error:
                    self._robots[site] = UnreachableError(f"{error}, which was asked for its robots.txt")
                except ImageError as error:
                    self._robots[site] = ImageError(f"{error} (its robots.txt)")
        known = self._robots[site]
        if isinstance(known, ImageError):
            raise type(known)(str(known))
        return known

    def _read_rules(self, address: str) -> Protego:
        for _ in range(MAX_REDIRECTS + 1):
            # Only its beginning is read, but all of it may come: a long one is no reason to do without its rules.
            answer = self._request(address, 0.0, max_bytes=MAX_BYTES, accept="text/plain,*/*;q=0.5")
            if answer.status in MOVED:
                address = redirected(address, answer)
            elif answer.status == 200:
                return parse_robots(answer.body, AGENT)
            elif 500 <= answer.status <= 599:
                raise UnreachableError(f"not fetched: {_host(address)} answered {answer.status}")
            else:
                break
        return parse_robots(b"", AGENT)  # there are no rules


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").casefold()
    except ValueError as error:
        raise ImageError("not fetched: not a valid address") from error


def _site(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].casefold()}"


def _seconds_to_wait(answer: Answer) -> float:
    """Seconds that a busy server asks us to wait, 0 where it does not say."""
    value = (answer.headers.get("Retry-After") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0
