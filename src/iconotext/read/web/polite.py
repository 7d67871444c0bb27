"""Many requests to web servers, with pauses for each host, and within its robots.txt (RFC 9309)."""

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
    follow,
    public_address,
    redirected,
    request,
)

MAX_READ = 500 * 2**10  # bytes of a robots.txt that are read, the minimum of RFC 9309 (2.5); the rest is ignored
MAX_LINES = 20_000  # lines of a robots.txt that are read; the rest is ignored


def parse_robots(body: bytes, agent: str) -> Protego:
    """Return the rules of a robots.txt for one robot and for all.

    All other robots get the same name: Protego keeps a group's rules for each robot that it names, so a file with
    thousands of names would make it keep millions of rules.
    """
    other = re.compile(rf"\s*user(?:-|\s*)agent[\s:]++(?!(?:\*|{re.escape(agent)})\s*(?:#|$))", re.IGNORECASE)
    lines = _text(body).removeprefix("\ufeff").splitlines()[:MAX_LINES]
    return Protego.parse("\n".join("User-agent: -" if other.match(line) else line for line in lines))


def _text(body: bytes) -> str:
    """Return the whole lines within the first ``MAX_READ`` bytes.

    A line that is cut off is dropped, since the beginning of a path matches more than the path.
    """
    if len(body) > MAX_READ:
        body = body[: max(body.rfind(end, 0, MAX_READ) for end in (b"\n", b"\r")) + 1]
    return body.decode("utf-8", "replace")


BUSY = (408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 525, 530)
"""Statuses of servers that may answer later."""

KINDS = ("image/", "application/octet-stream", "binary/octet-stream")  # content types that may be an image


@dataclass(frozen=True, slots=True)
class Politeness:
    """The limits of requests to servers."""

    interval: float = 1.0  # seconds between two requests to a host; its robots.txt may ask for more
    tries: int = 3  # number of tries for an address that does not answer, or whose server is busy
    patience: float = 120.0  # longest time in seconds that a host may ask us to wait; if it asks for more, we give up
    max_bytes: int = MAX_BYTES  # maximum size of an image
    max_seconds: float = MAX_SECONDS  # time limit for a request
    robots: bool = True  # whether robots.txt is obeyed; switch it off only for your own hosts


class Pace:
    """Makes requests to each host wait for their turn; can be shared by threads."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._clock = clock
        self._sleep = sleep
        self._free: dict[str, float] = {}  # host to the time of its next request
        self._lock = threading.Lock()

    def wait(self, host: str, interval: float) -> None:
        """Wait for the host's turn; the next turn is ``interval`` seconds later."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._free.get(host, now))
            self._free[host] = turn + interval
        if turn > now:
            self._sleep(turn - now)

    def rest(self, host: str, seconds: float) -> None:
        """Stop requests to a host for some seconds."""
        with self._lock:
            self._free[host] = max(self._free.get(host, 0.0), self._clock() + seconds)


def persistent(
    ask: Callable[[], Answer], host: str, pace: Pace, politeness: Politeness, *, interval: float, delay: float
) -> Answer:
    """Ask up to ``politeness.tries`` times, until a host answers and is not busy; return its last answer.

    Args:
        interval: Seconds between two requests to the host.
        delay: Half of the seconds that the host rests after the first failure, if it does not say how many; they double
            each time.

    Raises:
        UnreachableError: There was no answer to the last request.
        ImageError: The first request that is refused.
    """
    for tries_left in reversed(range(max(politeness.tries, 1))):
        pace.wait(host, interval)
        pause = delay = 2 * delay
        try:
            answer = ask()
        except UnreachableError:
            if not tries_left:
                raise
        else:
            pause = _seconds_to_wait(answer) or delay
            if answer.status not in BUSY or not tries_left or pause > politeness.patience:
                return answer
        pace.rest(host, pause)
    raise AssertionError("the last try returns or raises")


class PoliteFetcher:
    """Fetches images; threads may share one, and each host still gets only one request per interval."""

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
        """Fetch the bytes of an image.

        Raises:
            UnreachableError: No answer, or a busy server, after all tries; the image may be available later.
            ImageError: Refused, forbidden by robots.txt, not found, not an image, too large, or too many redirects.
        """
        address, answer = self.follow(address)
        kind = (answer.headers.get("Content-Type") or KINDS[0]).strip().casefold()
        if not kind.startswith(KINDS):
            raise ImageError(f"not fetched: {_host(address)} sent {kind.partition(';')[0][:60]}, not a picture")
        return answer.body

    def follow(self, address: str, *, accept: str = "image/*") -> tuple[str, Answer]:
        """Fetch the content at an address; return also its address after all redirects."""

        def ask(place: str) -> Answer:
            host, delay = _host(place), 0.0
            if self._politeness.robots:
                rules = self._rules(place)
                if not rules.can_fetch(place, AGENT):
                    raise ImageError(f"not fetched: robots.txt of {host} forbids it")
                delay = rules.crawl_delay(AGENT) or 0.0
            return self._request(place, delay, accept=accept)

        return follow(address, ask)

    def _request(self, address: str, delay: float, *, max_bytes: int | None = None, accept: str = "image/*") -> Answer:
        """Make a request, several times if necessary, and return the answer."""
        politeness, host = self._politeness, _host(address)
        interval = max(politeness.interval, delay)
        if interval > politeness.patience:
            raise UnreachableError(f"not fetched: {host} asks for {interval:g} seconds between two requests")

        def ask() -> Answer:
            return request(
                "GET",
                address,
                headers={"Accept": accept},
                lookup=self._lookup,
                deadline=time.monotonic() + politeness.max_seconds,
                max_bytes=max_bytes or politeness.max_bytes,
            )

        answer = persistent(ask, host, self._pace, politeness, interval=interval, delay=interval)
        if answer.status in BUSY:
            raise UnreachableError(f"not fetched: {host} answered {answer.status}")
        return answer

    def _rules(self, address: str) -> Protego:
        """Return the robots.txt for an address's site; requested only once, even if that fails."""
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
        rules = self._robots[site]
        if isinstance(rules, ImageError):
            raise type(rules)(str(rules))
        return rules

    def _read_rules(self, address: str) -> Protego:
        for _ in range(MAX_REDIRECTS + 1):
            # The file may be much longer than the part that counts: its rules must not be lost by that.
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
    """Return the seconds that a busy server asks us to wait; 0 if it does not say."""
    value = (answer.headers.get("Retry-After") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0
