from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.read.web.polite import MAX_LINES, MAX_READ, parse_robots

EXAMPLE = """\ufeff# a comment
User-agent: other
Disallow: /

User-Agent: Iconotext  # that is us
User-agent: friend
Disallow: /private/ # not here
Allow: /private/open
Disallow: /*.gif$
Crawl-delay: 2.5
Crawl-delay: soon
Sitemap: http://a.example/map.xml

User-agent: *
Disallow: /everybody/
Disallow:
nonsense
"""


def allows(text: str | bytes, path: str, agent: str = "iconotext") -> bool:
    body = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    return parse_robots(body, agent).can_fetch(f"http://a.example{path}", agent)


def test_the_group_that_names_us_counts_and_nothing_else():
    assert parse_robots(EXAMPLE.encode(), "iconotext").crawl_delay("iconotext") == 2.5
    assert [allows(EXAMPLE, path) for path in ("/private/", "/a.gif", "/everybody/", "/")] == [False, False, True, True]
    assert not allows(EXAMPLE, "/private/", "friend")
    assert not allows(EXAMPLE, "/", "other")
    assert [allows(EXAMPLE, path, "somebody") for path in ("/everybody/", "/private/")] == [False, True]
    assert parse_robots(EXAMPLE.encode(), "somebody").crawl_delay("somebody") is None
    assert allows("", "/")
    assert allows("Disallow: /", "/")
    assert allows("User-agent: icon\nDisallow: /", "/")  # the beginning of our name is somebody else's


def test_the_longest_rule_counts():
    allowed, forbidden = "/a.jpg /private/open/a.jpg /a.gif?x=1 /private", "/private/a.jpg /a/b.gif /%70rivate/a.jpg"
    assert [path for path in ["", *allowed.split()] if not allows(EXAMPLE, path)] == []
    assert [path for path in forbidden.split() if allows(EXAMPLE, path)] == []


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /a\nAllow: /a", "/a", True),  # as long: what is allowed counts
        ("Disallow: /\nAllow: /$", "/", True),
        ("Disallow: /\nAllow: /$", "/a", False),
        ("Disallow: /a*b*c$", "/abxc", False),
        ("Disallow: /a*b*c$", "/abxcd", True),
        ("Disallow: /a*a$", "/a", True),
        ("Disallow: /*?size=", "/p.jpg?size=9", False),
        ("Disallow: /caf%c3%a9", "/café", False),
        ("Disallow: /café", "/caf%C3%A9/x", False),
        ("Disallow: /a%2Fb", "/a/b", True),
    ],
)
def test_wildcards_and_encoded_characters(rules, path, allowed):
    assert allows(f"User-agent: *\n{rules}", path) is allowed


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_of_a_long_file_the_whole_lines_at_its_beginning_are_read(end):
    head = f"User-agent: *{end}Disallow: /no/{end}"
    filler = f"# {'x' * 97}{end}"
    number = (MAX_READ - len(head)) // len(filler)
    read = head + filler * (number - 1) + f"Disallow: /last/{end}"
    text = read + filler * number + f"Disallow: /late/{end}"
    assert [allows(text, path) for path in ("/no/", "/last/", "/late/")] == [False, False, True]


def test_a_rule_that_is_cut_short_forbids_nothing():
    head = "User-agent: *\nDisallow: /no/\n"
    line = "Disallow: /private/\n"
    filler = "#" * (MAX_READ - len(head) - len("Disallow: /") - 1) + "\n"
    long = (head + filler + line * 9).encode()
    assert long[:MAX_READ].endswith(b"\nDisallow: /")
    assert [allows(long, path) for path in ("/", "/private/", "/no/")] == [True, True, False]
    assert allows(b"x" * (MAX_READ + 1), "/")
    just = (head + "#" * (MAX_READ - len(head) - len("\nDisallow: /b")) + "\nDisallow: /b").encode()
    assert len(just) == MAX_READ
    assert not allows(just, "/b")


def test_many_lines_and_many_names_are_no_more_work_than_few():
    names = "".join(f"User-agent: robot{n}\n" for n in range(MAX_LINES // 2))
    rules = "".join(f"Allow: /{n:04x}\n" for n in range(MAX_LINES // 2))
    parsed = parse_robots((names + "User-agent: *\n" + rules + "Disallow: /late\n").encode(), "iconotext")
    assert parsed.can_fetch("http://a.example/late", "iconotext")  # line 20,002
    kept = parsed._user_agents  # 10,000 names with 10,000 rules each would be a hundred million of them
    assert sorted(kept) == ["*", "-"]


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=30))
def test_any_text_is_read(text, path):
    body = f"User-agent: *\nDisallow: {text}\n{text}"
    assert allows(body, "/" + path.replace("[", "").replace("]", "")) in (True, False)
