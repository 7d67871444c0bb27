"""What a correction changes elsewhere: other pictures move, and nothing but what changed is made anew."""

from __future__ import annotations

import json

import pytest

from tests.support.server import learned, png, wait_for

pytestmark = pytest.mark.slow

PICTURES = 12


def text(title: str, pictures: int) -> str:
    """Each picture stands alone between two paragraphs, and neither it nor they say which of the two it belongs to."""
    paragraphs = [f"Step {n} takes some time and some care." for n in range(pictures + 1)]
    parts = [part for n in range(pictures) for part in (paragraphs[n], f"![](p{n}.png)")]
    return "\n\n".join([f"# {title}", *parts, paragraphs[-1]]) + "\n"


@pytest.fixture
def opened(server, tmp_path):
    """A collection of two documents, one of which has many pictures."""
    files = {f"guide/p{n}.png": png((20 * n, 90, 250 - 20 * n), tmp_path) for n in range(PICTURES)}
    files |= {"guide/a.md": text("Long", PICTURES).encode(), "guide/b.md": text("Short", 1).encode()}
    made = server.send(files).json
    found = server.linked(made["id"])
    yield made["id"], {each["name"].rpartition("/")[2]: each["id"] for each in found["documents"]}
    assert server.ask("DELETE", f"/v1/collections/{made['id']}").status == 204


def shown(server, document, query):
    """What the script of a reading view knows."""
    answer = server.ask("GET", f"/documents/{document}?{query}")
    assert answer.status == 200, answer.body
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    page = answer.body.decode()
    return page, json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def best(server, home, document):
    pictures = server.ask("GET", f"{home}/review").json["pictures"]
    return {p["picture"]: p["best"] for p in pictures if p["document"] == document}


def test_corrections_in_one_document_move_a_picture_of_another(server, opened):
    collection, documents = opened
    home, (a, b) = f"/v1/collections/{collection}", (documents["a"], documents["b"])
    sentences = [s[0] for s in server.ask("GET", f"/v1/documents/{b}/review").json["sentences"]]
    above, below = sentences.index("Step 0 takes some time and some care."), len(sentences) - 1
    before = best(server, home, b)[0]
    wanted, step = (below, 2) if before == above else (above, 1)
    folder = server.data / "linked" / collection
    view = folder / str(b) / "page.html"
    written = view.stat().st_mtime_ns
    evidence = (folder / str(b) / "evidence.npz").stat().st_mtime_ns
    for picture in range(PICTURES):
        said = {"document": a, "picture": picture, "sentences": [picture + step], "reviewer": "Ada"}
        assert server.ask("POST", f"{home}/verdicts", said).status == 201
    found = learned(server, home)
    assert {"document": b, "title": "Short", "picture": 0, "before": before, "now": wanted} in found["changed"]
    assert best(server, home, b) == {0: wanted}
    assert view.stat().st_mtime_ns == written  # nobody asked for it
    links = server.ask("GET", f"/v1/documents/{b}").json["links"]
    assert max(links, key=lambda link: link["confidence"])["sentence"] == wanted
    written = view.stat().st_mtime_ns
    assert server.ask("GET", f"/documents/{b}").status == 200
    assert view.stat().st_mtime_ns == written  # it was made for the links
    assert (folder / str(b) / "evidence.npz").stat().st_mtime_ns == evidence  # nothing was read or looked at


def test_a_document_of_which_nothing_is_kept_is_linked_again(server, opened):
    collection, documents = opened
    home, folder = f"/v1/collections/{collection}", server.data / "linked" / collection / str(documents["b"])
    (folder / "evidence.json").unlink()
    said = {"document": documents["a"], "picture": 0, "sentences": [1], "reviewer": "Ada"}
    assert server.ask("POST", f"{home}/verdicts", said).status == 201
    assert learned(server, home)["current"]
    assert (folder / "evidence.json").is_file()
    assert server.ask("GET", f"/v1/documents/{documents['b']}").status == 200


def test_a_document_whose_file_changed_is_linked_again(server, opened):
    collection, documents = opened
    home, b = f"/v1/collections/{collection}", documents["b"]
    said = {"document": b, "picture": 0, "sentences": [1], "reviewer": "Ada"}
    assert server.ask("POST", f"{home}/verdicts", said).status == 201
    learned(server, home)
    (file,) = (server.data / "dropped" / collection).rglob("b.md")
    file.write_text(text("Short", 1) + "\nOne more sentence.\n")
    assert any(s["text"] == "One more sentence." for s in server.ask("GET", f"/v1/documents/{b}").json["sentences"])
    wait_for(lambda: server.ask("GET", f"/v1/documents/{b}/review").json["sentences"][-1][0] == "One more sentence.")

    def verdicts():
        (picture,) = [p for p in server.ask("GET", f"{home}/review").json["pictures"] if p["document"] == b]
        return picture["verdicts"]

    wait_for(lambda: verdicts() == {})  # it was said of another text
