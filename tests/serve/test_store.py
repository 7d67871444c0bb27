"""What the store keeps, and what counts of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from iconotext.errors import SettingError
from iconotext.serve.alt_text_work import AltTexts
from iconotext.serve.store import Picture, Store

KNOWN = {"title": "A", "sentences": 5, "links": 2, "missing": 0, "digest": "one", "images": 3}


def linked(store, digest="one"):
    collection = store.add_collection("c", Path("c"), own=True)
    store.set_documents(collection.id, [("a", "c/a.md"), ("b", "c/b.md")], "{}", None, None)
    for entry in store.entries(collection.id):
        store.set_linked(entry.id, 0, KNOWN | {"digest": digest}, [Picture(entry.id, 0, 1, 0.5, 0.6, 0.1)], [])
    return collection.id, store.entries(collection.id)


def said(store, collection):
    return [(v.document, v.picture, v.reviewer, v.sentences) for v in store.verdicts(collection)]


def test_the_last_word_of_each_reviewer_counts_until_it_is_taken_back(store):
    collection, (entry, other) = linked(store)
    store.add_verdict(entry, 0, "Ada", [1])
    store.add_verdict(entry, 0, "Ada", [2])
    store.add_verdict(other, 0, "Bob", [])
    assert said(store, collection) == [(entry.id, 0, "Ada", (2,)), (other.id, 0, "Bob", ())]
    undone = store.undo(collection, "Ada")
    assert undone is not None
    assert undone.sentences == (2,)
    assert said(store, collection) == [(entry.id, 0, "Ada", (1,)), (other.id, 0, "Bob", ())]


def test_every_word_and_every_undo_is_a_change(store):
    collection, (entry, _) = linked(store)
    seen = [store.last_change(collection)]
    for step in range(6):
        if step % 2:
            store.undo(collection, "Ada")
        else:
            store.add_verdict(entry, 0, "Ada", [step])
        seen.append(store.last_change(collection))
    assert seen == sorted(set(seen))


def test_what_was_said_of_another_version_does_not_count(store):
    collection, (entry, _) = linked(store)
    store.add_verdict(entry, 0, "Ada", [1])
    store.set_linked(entry.id, 1, KNOWN | {"digest": "two"}, [], [])
    assert said(store, collection) == []
    store.set_linked(entry.id, 2, KNOWN, [], [])
    assert len(said(store, collection)) == 1


def test_a_document_that_was_linked_once_stays_readable_when_it_fails_later(store):
    _, (entry, _) = linked(store)
    store.set_failed(entry.id, 1, "gone")
    again = store.entry(entry.id)
    assert again is not None
    assert (again.state, again.problem) == ("done", "gone")


def test_removing_a_collection_removes_all_of_it(store, tmp_path):
    collection, (entry, _) = linked(store)
    store.add_verdict(entry, 0, "Ada", [1])
    store.remove_collection(collection)
    with sqlite3.connect(tmp_path / "s.sqlite") as sql:
        for table in ("collections", "documents", "pictures", "verdicts"):
            assert sql.execute(f"select count(*) from {table}").fetchone() == (0,)
    sql.close()


def test_a_file_without_the_number_of_all_pictures_is_read(store, tmp_path):
    collection, (entry, other) = linked(store)
    store.set_linked(
        other.id, 0, KNOWN | {"missing": 2}, [Picture(other.id, n, 1, 0.5, 0.6, 0.1) for n in range(3)], []
    )
    store.close()
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as sql:
        sql.execute("alter table documents drop column images")
        sql.commit()
    with closing(Store(tmp_path / "s.sqlite")) as again:
        assert {each.id: each.images for each in again.entries(collection)} == {entry.id: 1, other.id: 5}


def test_a_file_of_another_version_is_refused(store, tmp_path):
    store.close()
    with sqlite3.connect(tmp_path / "s.sqlite") as sql:
        sql.execute("pragma user_version = 99")
    sql.close()
    with pytest.raises(SettingError, match="another version"):
        Store(tmp_path / "s.sqlite")


def test_what_changes_while_something_is_learned_stays_to_be_done(store):
    identifier, (first, second) = linked(store)
    began = store.collection(identifier)
    store.link_again(second.id)  # its file has changed
    seen = [[Picture(each.id, 0, 2, 0.9, 0.1, 0.1)] for each in (first, second)]
    store.set_learned(began, "{}", None, 5, {first.id: (7, seen[0], []), second.id: (7, seen[1], [])})
    now = store.collection(identifier)
    assert (now.learned, now.round) == (5, began.round + 1)
    assert [(each.links, each.round) for each in store.entries(identifier)] == [(7, now.round), (2, began.round - 1)]
    assert store.next_entry(identifier, []).id == second.id
    assert [picture.best for picture in store.pictures(identifier)] == [2, 1]


def test_a_document_that_comes_while_something_is_learned_is_learned_from_later(store):
    AltTexts(store)  # its tables
    identifier, _ = linked(store)
    for _ in range(2):  # the second time learning has begun because of the first
        began = store.collection(identifier)
        path = f"c/{began.learned}.md"
        known = [(each.name, each.path) for each in store.entries(identifier)]
        assert store.set_folder(identifier, [*known, (path, path)], [])
        store.set_learned(began, "{}", None, 0, {})
        assert store.collection(identifier).learned < 0
    store.set_learned(store.collection(identifier), "{}", None, 0, {})
    assert store.collection(identifier).learned == 0
