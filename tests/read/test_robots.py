from __future__ import annotations

import re
from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.read.robots import MAX_READ, Robots, Rule, parse_robots, robots_text

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


def test_the_group_that_names_us_counts_and_nothing_else():
    robots = parse_robots(EXAMPLE, "iconotext")
    assert robots.delay == 2.5
    assert robots.rules == (Rule(False, "/private/"), Rule(True, "/private/open"), Rule(False, "/*.gif$"))
    assert parse_robots(EXAMPLE, "friend") == robots
    assert parse_robots(EXAMPLE, "other").rules == (Rule(False, "/"),)
    assert parse_robots(EXAMPLE, "somebody") == Robots((Rule(False, "/everybody/"),))
    assert parse_robots("", "iconotext") == parse_robots("Disallow: /", "iconotext") == Robots()


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/a.jpg", True), ("/private/a.jpg", False), ("/private/open/a.jpg", True), ("/a/b.gif", False),
     ("/a.gif?x=1", True), ("", True), ("/private", True), ("/%70rivate/a.jpg", False)],
)  # fmt: skip
def test_the_longest_rule_counts(path, allowed):
    assert parse_robots(EXAMPLE, "iconotext").allows(f"http://a.example{path}") is allowed


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ([(False, "/a"), (True, "/a")], "/a", True),  # as long: the kinder one
        ([(False, "/"), (True, "/$")], "/", True),
        ([(False, "/"), (True, "/$")], "/a", False),
        ([(False, "/a*b*c$")], "/abxc", False),
        ([(False, "/a*b*c$")], "/abxcd", True),
        ([(False, "/a*a$")], "/a", True),
        ([(False, "/*?size=")], "/p.jpg?size=9", False),
        ([(False, "/caf%c3%a9")], "/café", False),
        ([(False, "/café")], "/caf%C3%A9/x", False),
        ([(False, "/a%2Fb")], "/a/b", True),
    ],
)
def test_wildcards_and_encoded_characters(rules, path, allowed):
    text = "User-agent: *\n" + "\n".join(f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules)
    assert parse_robots(text, "iconotext").allows(f"http://a.example{path}") is allowed


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_of_a_long_file_the_whole_lines_at_its_beginning_are_read(end):
    head = f"User-agent: *{end}Disallow: /no/{end}"
    filler = f"# {'x' * 97}{end}"
    text = head + filler * (2 * MAX_READ // len(filler)) + f"Disallow: /late/{end}"
    read = robots_text(text.encode())
    assert MAX_READ - len(filler) <= len(read) <= MAX_READ
    assert text.startswith(read)
    assert read.endswith(end[-1])
    assert parse_robots(read, "iconotext").rules == (Rule(False, "/no/"),)


def test_a_rule_that_is_cut_short_forbids_nothing():
    head = "User-agent: *\nDisallow: /no/\n"
    line = "Disallow: /private/\n"
    filler = "#" * (MAX_READ - len(head) - len("Disallow: /") - 1) + "\n"
    long = (head + filler + line * 9).encode()
    assert long[:MAX_READ].endswith(b"\nDisallow: /")
    assert parse_robots(robots_text(long), "iconotext").rules == (Rule(False, "/no/"),)
    assert robots_text(b"x" * (MAX_READ + 1)) == ""
    whole = (head + filler).encode()
    assert robots_text(whole + b"x" * (MAX_READ - len(whole))).endswith("x")  # just as long as is read


PATHS = st.text("ab*$", max_size=6).map(lambda text: "/" + text)


@settings(deadline=None)
@given(rules=st.lists(st.tuples(st.booleans(), PATHS), max_size=5), path=st.text("ab", max_size=6))
def test_rules_against_regular_expressions(rules, path):
    path = f"/{path}"
    found = []
    for allow, rule in rules:
        end = rule.endswith("$")
        body = ".*".join(re.escape(piece) for piece in rule.removesuffix("$").split("*"))
        if re.match(body + ("$" if end else ""), path):
            found.append((len(rule), allow))
    longest = max((length for length, _ in found), default=0)
    wanted = not found or any(allow for length, allow in found if length == longest)
    assert Robots(tuple(Rule(*rule) for rule in rules)).allows(f"http://a.example{path}") is wanted


@settings(deadline=None)
@given(
    st.lists(st.text("ab", min_size=1, max_size=5).map(lambda text: "/" + text), max_size=4),
    st.text("ab", max_size=6),
)
def test_plain_prefixes_against_the_standard_library(rules, path):
    text = "User-agent: *\n" + "\n".join(f"Disallow: {rule}" for rule in rules)
    theirs = RobotFileParser()
    theirs.parse(text.splitlines())
    address = f"http://a.example/{path}"
    assert parse_robots(text, "iconotext").allows(address) is theirs.can_fetch("iconotext", address)


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=30))
def test_any_text_is_read(text, path):
    robots = parse_robots(f"User-agent: *\nDisallow: {text}\n{text}", "iconotext")
    assert robots.allows("http://a.example/" + path.replace("[", "").replace("]", "")) in (True, False)
