"""Files that were opened are followed: text, pictures, folders; nothing that was said is lost meanwhile."""

from __future__ import annotations

import re
import shutil
import time

import pytest

from iconotext.serve.sources import File, Place, files_now, read_files
from tests.support.server import ARTICLE, Running, png, wait_for

pytestmark = pytest.mark.slow


OFTEN = "from iconotext.serve import follow; follow.PAUSE, follow.FOLDER_PAUSE, follow.GONE = 0.1, 0.2, 1.0"


@pytest.fixture(scope="module")
def writer(tmp_path_factory, desk):
    """A server that may write, and polls its files so often that no test waits for it for long."""
    with Running(tmp_path_factory.mktemp("often") / "data", "--root", str(desk), "--write", before=OFTEN) as running:
        yield running


@pytest.fixture
def trip(request, desk, writer, article):
    """A folder with an article, opened: its path, the collection, and the number of the document."""
    folder = desk / request.node.name
    folder.mkdir()
    for name, data in article.items():
        (folder / name.removeprefix("trip/")).write_bytes(data)
    made = writer.open(folder.name)
    return folder, made["id"], made["documents"][0]["id"]


def documents(writer, collection):
    return {each["name"]: each for each in writer.ask("GET", f"/v1/collections/{collection}").json["documents"]}


def stands(writer, collection, name, there):
    wait_for(lambda: (name in documents(writer, collection)) == there)


def texts(writer, document):
    return [each["text"] for each in writer.ask("GET", f"/v1/documents/{document}").json["sentences"]]


def judge(writer, collection, document, picture, sentence):
    said = {"document": document, "picture": picture, "sentences": [sentence], "reviewer": "Ada"}
    assert writer.ask("POST", f"/v1/collections/{collection}/verdicts", said).status == 201
    wait_for(lambda: writer.ask("GET", f"/v1/collections/{collection}/review").json["current"])


def judged(writer, collection):
    return writer.ask("GET", f"/v1/collections/{collection}").json["judged"]


def test_a_text_that_changes_is_linked_again(writer, trip):
    folder, collection, document = trip
    (folder / "article.md").write_text(ARTICLE.replace("Nothing else happened", "Much else happened"))
    wait_for(lambda: "Much else happened that day." in texts(writer, document))
    found = writer.linked(collection)["documents"][0]
    assert (found["id"], found["problem"], found["pictures"]) == (document, None, 2)


def test_a_picture_that_changes_goes_or_comes_is_seen(writer, trip, tmp_path):
    folder, _, document = trip
    address = f"/v1/documents/{document}/pictures/0"
    before = writer.ask("GET", address).body
    (folder / "red.png").write_bytes(png((20, 20, 200), tmp_path))
    wait_for(lambda: writer.ask("GET", address).body != before)
    (folder / "green.png").rename(folder / "elsewhere.png")
    wait_for(lambda: writer.ask("GET", f"/v1/documents/{document}").json["images"][1]["problem"])
    (folder / "elsewhere.png").rename(folder / "green.png")
    wait_for(lambda: not writer.ask("GET", f"/v1/documents/{document}").json["images"][1].get("problem"))


def test_what_was_said_outlives_a_file_that_is_half_written_or_gone(writer, trip):
    folder, collection, document = trip
    judge(writer, collection, document, 0, 4)
    path = folder / "article.md"
    path.write_text(ARTICLE[:40])
    wait_for(lambda: judged(writer, collection) == 0)
    linked = writer.ask("GET", f"/v1/documents/{document}").json
    assert len(linked["sentences"]) < 4  # a sentence that was named is not there: nothing is linked with it
    path.write_text(ARTICLE)
    wait_for(lambda: judged(writer, collection) == 1)
    path.unlink()
    wait_for(lambda: documents(writer, collection)["article"]["problem"])
    assert "cannot be read" in documents(writer, collection)["article"]["problem"]
    assert writer.ask("GET", f"/documents/{document}").status == 200
    assert judged(writer, collection) == 1
    path.write_text(ARTICLE)
    wait_for(lambda: documents(writer, collection)["article"]["problem"] is None)
    links = writer.ask("GET", f"/v1/documents/{document}").json["links"]
    assert [link["sentence"] for link in links if link["image"] == 0] == [4]


def test_a_file_that_is_shorter_than_what_was_said_of_it_is_linked(writer, trip):
    folder, collection, document = trip
    judge(writer, collection, document, 1, 4)
    short = "# Boats\n\nA boat.\n\n![](red.png)\n\n![](green.png)\n"
    (folder / "article.md").write_text(short)
    wait_for(lambda: texts(writer, document) == ["Boats", "A boat."])
    wait_for(lambda: writer.ask("GET", f"/v1/collections/{collection}/review").json["current"])
    assert documents(writer, collection)["article"]["problem"] is None
    assert writer.ask("GET", f"/documents/{document}").status == 200


def test_a_file_that_is_gone_stays_readable_and_said_to_be_gone_after_a_correction(writer, trip):
    folder, collection, document = trip
    (folder / "other.md").write_text("# Other\n\nA boat.\n\n![](red.png)\n\nA tram.\n")
    stands(writer, collection, "other", True)
    writer.linked(collection)
    other = documents(writer, collection)["other"]["id"]
    judge(writer, collection, other, 0, 1)
    (folder / "other.md").unlink()
    wait_for(lambda: documents(writer, collection)["other"]["problem"])
    judge(writer, collection, document, 0, 4)
    assert "cannot be read" in documents(writer, collection)["other"]["problem"]
    answer = writer.ask("GET", f"/documents/{other}")
    assert answer.status == 200
    assert "cannot%20be%20read" in answer.headers["iconotext-problem"]


def test_what_files_change_is_no_doing_of_answers(writer, desk, tmp_path):
    folder = desk / "moved"
    folder.mkdir()
    (folder / "one.png").write_bytes(png((200, 20, 20), tmp_path))
    (folder / "a.md").write_text("# A\n\nStep 0 takes some time.\n\n![](one.png)\n\nStep 1 takes some time.\n")
    opened = writer.open("moved")
    made, (first,) = opened["id"], opened["documents"]
    seen = set()
    for name in ("above", "below"):  # a second document, by whose captions pictures stand there
        lines = []
        for n in range(12):
            (folder / f"{name}{n}.png").write_bytes(png((20 * n, 90, 250 - 20 * n), tmp_path))
            picture, said = f"![Figure {n}: the gate]({name}{n}.png)", f"See figure {n}."
            lines += [picture, said, "Nothing."] if name == "above" else ["Nothing.", said, picture]
        (folder / f"{name}.md").write_text("\n\n".join(["# B", *lines]) + "\n")
        stands(writer, made, name, True)
        wait_for(lambda: writer.ask("GET", f"/v1/collections/{made}/review").json["current"])
        writer.linked(made)
        found = writer.ask("GET", f"/v1/collections/{made}/review").json
        seen |= {one["best"] for one in found["pictures"] if one["document"] == first["id"]}
        assert found["changed"] == []
        (folder / f"{name}.md").unlink()
        stands(writer, made, name, False)
    assert len(seen) == 2  # it moved


def test_what_is_said_of_another_version_is_refused(writer, trip):
    folder, collection, document = trip
    digest = writer.ask("GET", f"/v1/documents/{document}/review").json["digest"]
    said = {"document": document, "picture": 0, "sentences": [1], "reviewer": "Ada", "digest": digest}
    verdicts = f"/v1/collections/{collection}/verdicts"
    assert writer.ask("POST", verdicts, said).status == 201
    (folder / "article.md").write_text(ARTICLE.replace("# Boats and trams", "# Boats\n\nAnd trams."))
    wait_for(lambda: "And trams." in texts(writer, document))
    writer.linked(collection)
    assert writer.ask("POST", verdicts, said).status == 409
    new = writer.ask("GET", f"/v1/documents/{document}/review").json["digest"]
    assert writer.ask("POST", verdicts, said | {"digest": new}).status == 201


def test_documents_of_a_folder_come_and_go(writer, trip, article):
    folder, collection, document = trip
    (folder / "later").mkdir()
    (folder / "later" / "article.md").write_text("# Later\n\nA boat.\n")
    wait_for(lambda: len(documents(writer, collection)) == 2)
    writer.linked(collection)
    (new,) = [each["id"] for each in documents(writer, collection).values() if each["id"] != document]
    assert texts(writer, new) == ["Later", "A boat."]
    judge(writer, collection, document, 0, 1)
    shutil.rmtree(folder / "later")
    wait_for(lambda: len(documents(writer, collection)) == 1)
    (folder / "other.md").write_text("# Other\n\nA boat.\n")
    wait_for(lambda: len(documents(writer, collection)) == 2)
    (folder / "article.md").unlink()  # of this one something was said
    wait_for(lambda: any(each["problem"] for each in documents(writer, collection).values()))
    (folder / "third.md").write_text("# Third\n\nA boat.\n")
    wait_for(lambda: len(documents(writer, collection)) == 3)
    (folder / "article.md").write_bytes(article["trip/article.md"])
    wait_for(lambda: not any(each["problem"] for each in documents(writer, collection).values()))
    assert judged(writer, collection) == 1


def test_an_empty_folder_is_filled(writer, desk):
    (desk / "empty").mkdir()
    made = writer.ask("POST", "/v1/collections/path", {"path": "empty"}).json["id"]
    writer.linked(made, "failed")
    (desk / "empty" / "a.md").write_text("# A\n\nA boat.\n")
    assert writer.linked(made)["documents"][0]["title"] == "A"


def test_what_changed_while_the_server_was_away_is_noticed(tmp_path, article):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nA boat.\n")
    first = Running(tmp_path / "data", "--root", str(folder))
    document = first.open("a.md")["documents"][0]["id"]
    first.close()
    (folder / "a.md").write_text("# A\n\nA tram.\n")
    second = Running(tmp_path / "data", "--root", str(folder))
    wait_for(lambda: "A tram." in texts(second, document))
    second.close()


def test_the_page_of_a_followed_file_may_load_one_script_more_and_no_other(writer, trip, article):
    _, _, document = trip
    page = writer.ask("GET", f"/documents/{document}")
    home = f"http://127.0.0.1:{writer.port}"
    policy = page.headers["content-security-policy"]
    assert re.search(rf"script-src {home}/static/follow.js 'sha256-[^']+'; ", policy)
    assert f"connect-src {home}/v1/events {home}/documents/{document};" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.findall(rb'<script[^>]*src="([^"]*)"', page.body) == [b"/static/follow.js"]
    same = writer.ask("GET", f"/documents/{document}", headers={"If-None-Match": page.headers["etag"]})
    assert (same.status, same.body) == (304, b"")
    made = writer.send(article).json["id"]
    dropped = writer.linked(made)["documents"][0]["id"]
    page = writer.ask("GET", f"/documents/{dropped}")
    assert b"follow.js" not in page.body
    assert "connect-src" not in page.headers["content-security-policy"]


def test_a_picture_that_may_come_is_followed_below_a_root_that_is_a_link(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nA boat.\n\n![](later.png)\n\n![](../outside.png) ![](a%00b.png)\n")
    (tmp_path / "root").symlink_to(tmp_path / "docs")
    read = read_files(Place(str(tmp_path / "docs" / "a.md"), "a", str(tmp_path / "root")))
    assert [file.path for file in read.files[1:]] == [str(tmp_path / "docs" / "later.png")]


def test_files_now(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    there, gone, odd = files_now([str(tmp_path / "a"), str(tmp_path / "b"), "a\x00b"])
    assert there.size == 3
    assert there.changed == (tmp_path / "a").stat().st_mtime_ns
    time.sleep(0.05)  # clocks of file systems tick slowly
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "c").rename(tmp_path / "a")
    (back,) = files_now([str(tmp_path / "a")])
    assert back != there  # it was away
    assert gone == File(str(tmp_path / "b"), None, None, None)
    assert odd == File("a\x00b", None, None, None)
