"""The list of documents: what is filtered, sorted and cut into pages, and what that costs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from iconotext.serve.listing import COLLECTIONS, DOCUMENTS, LINES, SORTS, ListQuery, listing
from iconotext.serve.pages import all_documents
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Picture, Saved, Store


def opened(store, name, titles, *, missing=0):
    """A collection of linked documents, each with a picture."""
    made = store.add_collection(name, Path("c"), own=True).id
    store.set_documents(made, [(f"n{n}", f"c/{n}.md") for n in range(len(titles))], "{}", None, None)
    for entry, title in zip(store.entries(made), titles, strict=True):
        known = {"title": title, "sentences": 5, "links": 2, "missing": missing, "digest": "one", "images": "one"}
        store.set_linked(entry.id, 0, known, [Picture(entry.id, 0, 1, 0.5, 0.6, 0.1)], [])
    return made


def fill(store, collections, documents):
    """Many collections, in one change."""
    with store.change() as sql:
        for c in range(collections):
            sql.execute(
                "insert into collections (id, name, folder, own, made, found) values (?, ?, 'c', 0, ?, 1)",
                (f"i{c:05}", f"Collection {c}", c),
            )
        sql.executemany(
            "insert into documents (id, collection, number, name, path, state, title, digest, round) "
            "values (?, ?, ?, ?, ?, 'done', ?, 'one', 0)",
            (
                (1 + c * documents + n, f"i{c:05}", n, f"d{n}", f"c/{c}/{n}.md", f"A walk of the day {c}/{n}")
                for c in range(collections)
                for n in range(documents)
            ),
        )
        sql.execute("insert into pictures select id, 0, 1, 0.5, 0.6, 0.1 from documents")


def shown(store, **asked):
    return [one.row["shown"] for one in listing(store, ListQuery(**asked)).collections]


def test_a_collection_of_one_document_is_called_like_it(store):
    opened(store, "IMG_0001.jpg", ["Boats and trams"])
    opened(store, "trip", ["One", "Two"])
    assert shown(store) == ["trip", "Boats and trams"]


def test_what_is_looked_for_is_in_titles_and_names_in_any_case(store):
    opened(store, "summer", ["Über Boote", "Trams"])
    opened(store, "winter", ["Sledges"])
    (found,) = listing(store, ListQuery(q="ÜBER")).collections
    assert ([row["shown"] for row in found.documents], found.matching) == (["Über Boote"], 1)
    (found,) = listing(store, ListQuery(q="summer")).collections
    assert found.matching == 2
    assert shown(store, q="100%_") == []


def test_every_order(store):
    first = opened(store, "b", ["Bread", "Broth"])
    opened(store, "c", ["Cake"], missing=3)
    opened(store, "a", ["Apples"])
    for entry in store.entries(first):
        store.add_verdict(entry, 0, "Ada", [1])
    opened(store, "d", ["Dill", "Dates"])
    assert shown(store, sort="new") == ["d", "Apples", "Cake", "b"]
    assert shown(store, sort="name") == ["Apples", "b", "Cake", "d"]
    assert shown(store, sort="problems") == ["Cake", "d", "Apples", "b"]
    assert shown(store, sort="open") == ["d", "Apples", "Cake", "b"]
    (only,) = listing(store, ListQuery(collection=first, sort="name")).collections
    assert [row["shown"] for row in only.documents] == ["Bread", "Broth"]
    assert (only.row["judged"], only.row["pictures"], only.state) == (2, 2, "learning")


@pytest.mark.parametrize("number", [0, 1, LINES, LINES + 1, 3000])
def test_files_that_were_not_taken_are_named_the_first_of_many(store, number):
    saved = Saved(refused=[(f"{n}<b>?.pdf", "it is damaged") for n in range(number)])
    made = store.add_collection("trip", Path("c"), own=True, saved=saved).id
    store.set_documents(made, [("one.md", "c/one.md")], "{}", None, None)
    opened(store, "other", ["Another"])
    (found,) = [one for one in listing(store, ListQuery()).collections if one.row["id"] == made]
    assert (found.refused, found.row["refusals"]) == (saved.refused[:LINES], number)
    html = all_documents(SimpleNamespace(store=store, settings=ServeSettings()), ListQuery())
    assert html.count("it is damaged") == html.count("&lt;b&gt;?.pdf") == min(number, LINES)
    assert html.count("not taken") == (1 if number else 0)
    assert ("1 file not taken" in html) == (number == 1)
    assert ("and 2,990 more" in html) == (number == 3000)
    assert ("and 1 more" in html) == (number == LINES + 1)


def test_files_that_were_not_taken_are_problems(store):
    store.add_collection("damaged", Path("c"), own=True, saved=Saved(refused=[("a.zip", "damaged")] * 2))
    opened(store, "later", ["One", "Two"], missing=1)
    opened(store, "last", ["Three"], missing=1)
    opened(store, "fine", ["Four", "Five"])
    assert shown(store, sort="problems") == ["later", "damaged", "Three", "fine"]


def test_a_page_that_is_not_there_is_the_last_one(store):
    fill(store, COLLECTIONS + 3, 1)
    found = listing(store, ListQuery(page=99))
    assert (len(found.collections), found.pages.number, found.pages.last) == (3, 2, 2)
    assert listing(store, ListQuery(collection="nothing")).collections == []


@pytest.mark.slow
@pytest.mark.parametrize("collections", [1, 500])
def test_ten_thousand_documents_cost_as_much_as_ten(store, tmp_path, collections):
    few, many = Store(tmp_path / "few.sqlite"), store
    fill(few, 1, 10)
    fill(many, collections, 10_000 // collections)

    def page(store, asked):
        queries: list[str] = []
        store._sql.set_trace_callback(queries.append)
        jobs = SimpleNamespace(store=store, settings=ServeSettings())
        made = all_documents(jobs, asked)
        store._sql.set_trace_callback(None)
        return made, len(queries)

    for asked in (ListQuery(sort=sort, q=q) for sort in SORTS for q in ("", "day")):
        (_, queries), (html, more) = page(few, asked), page(many, asked)
        assert more == queries <= 4
        assert len(html.encode()) < 120_000
    one, _ = page(many, ListQuery(collection="i00000"))
    assert one.count('href="/documents/') == min(DOCUMENTS, 10_000 // collections)
    assert page(many, ListQuery())[0].count('href="/documents/') <= COLLECTIONS * LINES
    few.close()
