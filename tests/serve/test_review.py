"""What people say of links is kept, counts for other pictures, and becomes a corpus."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from tests.support import program
from tests.support.server import learned, verdict

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(server, article):
    """Address of a collection that was dropped and linked, and its document."""
    made = server.send(article).json
    document = server.linked(made["id"])["documents"][0]["id"]
    yield f"/v1/collections/{made['id']}", document
    assert server.ask("DELETE", f"/v1/collections/{made['id']}").status == 204


def test_the_doubtful_come_first_and_the_judged_last(server, opened):
    home, document = opened
    pictures = server.ask("GET", f"{home}/review?reviewer=Ada").json["pictures"]
    assert [p["worth"] for p in pictures] == sorted((p["worth"] for p in pictures), reverse=True)
    first = pictures[0]["picture"]
    assert server.ask("POST", f"{home}/verdicts", verdict(document, first, pictures[0]["best"])).status == 201
    pictures = server.ask("GET", f"{home}/review?reviewer=Ada").json["pictures"]
    assert pictures[-1]["picture"] == first
    assert pictures[-1]["verdicts"] == {"Ada": [pictures[-1]["best"]]}
    assert server.ask("GET", f"{home}/review?reviewer=Bob").json["pictures"][0]["worth"] > 0


def test_a_correction_is_shown_and_undone(server, opened):
    home, document = opened
    server.ask("POST", f"{home}/verdicts", verdict(document, 0, 4))
    learned(server, home)
    linked = server.ask("GET", f"/v1/documents/{document}").json
    assert [(link["sentence"], link["confidence"]) for link in linked["links"] if link["image"] == 0] == [(4, 1)]
    assert "1 of 2 pictures linked as chosen by Ada" in linked["notes"]
    assert server.ask("POST", f"{home}/undo", {"reviewer": "Bob"}).json == {"document": None, "picture": None}
    assert server.ask("POST", f"{home}/undo", {"reviewer": "Ada"}).json == {"document": document, "picture": 0}
    learned(server, home)
    linked = server.ask("GET", f"/v1/documents/{document}").json
    assert max((link for link in linked["links"] if link["image"] == 0), key=lambda x: x["confidence"])["sentence"] == 1
    assert server.ask("POST", f"{home}/undo", {"reviewer": "Ada"}).json["document"] is None


def test_a_correction_is_on_the_page_at_once_with_the_name_of_who_made_it(server, opened):
    home, document = opened
    assert b"chosen by" not in server.ask("GET", f"/documents/{document}").body
    server.ask("POST", f"{home}/verdicts", verdict(document, 0, 4, reviewer="ANNA & Co"))
    server.ask("POST", f"{home}/verdicts", verdict(document, 1, reviewer="Bob"))
    page = server.ask("GET", f"/documents/{document}").body.decode()  # nobody has learned from it yet
    assert "1 sentence, chosen by ANNA &amp; Co" in page
    assert "None of the sentences, chosen by Bob" in page
    assert "2 of 2 pictures linked as chosen by ANNA &amp; Co, Bob" in page
    data = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    assert data["correct"] == f"{home.removeprefix('/v1')}/review?document={document}&picture="
    assert [image["by"] for image in data["images"]] == ["chosen by ANNA & Co", "chosen by Bob"]
    server.ask("POST", f"{home}/undo", {"reviewer": "Bob"})
    assert b"chosen by Bob" not in server.ask("GET", f"/documents/{document}").body


def test_the_review_knows_where_each_picture_stands(server, opened):
    pictures = server.ask("GET", f"/v1/documents/{opened[1]}/review").json["pictures"]
    assert [picture["position"] for picture in pictures.values()] == [2, 4]


def test_what_is_wrong_is_refused(server, opened):
    home, document = opened
    for wrong in (verdict(document, 9, 0), verdict(document, 0, 999), verdict(document + 999, 0, 0)):
        assert server.ask("POST", f"{home}/verdicts", wrong).status == 404
    assert server.ask("POST", f"{home}/verdicts", verdict(document, 0, 0, reviewer=" ")).status == 422
    assert server.ask("POST", f"{home}/verdicts", verdict(document, -1, 0)).status == 422
    for body in (b"reviewer=Ada", ["Ada"]):
        answer = server.ask("POST", f"{home}/undo", body)
        assert (answer.status, answer.json["detail"]) == (
            422,
            "the body must be a JSON object, sent with Content-Type: application/json",
        )
    assert server.ask("POST", "/v1/collections/nothing/verdicts", verdict(document, 0, 0)).status == 404
    assert server.ask("GET", f"{home}/corpus").status == 409


def test_reviewers_agree_or_not(server, opened):
    home, document = opened
    for reviewer, second in (("Ada", 3), ("Bob", 4)):
        server.ask("POST", f"{home}/verdicts", verdict(document, 0, 1, reviewer=reviewer))
        server.ask("POST", f"{home}/verdicts", verdict(document, 1, second, reviewer=reviewer))
    found = server.ask("GET", f"{home}/review").json
    assert found["reviewers"] == ["Ada", "Bob"]
    assert found["alpha"] == pytest.approx(0.4)  # by hand in test_verdicts
    assert found["undecided"] == 1


def test_where_nothing_is_decided_there_is_no_corpus_and_it_is_said_why(server, opened):
    home, document = opened
    assert server.ask("GET", f"{home}/corpus").json == {"detail": "nobody has judged a picture yet"}
    for reviewer, sentence in (("Ada", 1), ("Bob", 2)):
        server.ask("POST", f"{home}/verdicts", verdict(document, 0, sentence, reviewer=reviewer))
    answer = server.ask("GET", f"{home}/corpus")
    assert answer.status == 409
    assert answer.json["detail"] == "every picture that was judged is undecided: no answer has most votes"


def test_verdicts_are_taken_as_a_corpus(server, article, tmp_path):
    files = dict.fromkeys(("a/one.md", "b/one.md", "b/two.md", "Why %3F.md"), article["trip/article.md"])
    for folder in ("a/", "b/", ""):
        files |= {f"{folder}{name}": article[f"trip/{name}"] for name in ("red.png", "green.png")}
    made = server.linked(server.send(files).json["id"])
    home, documents = f"/v1/collections/{made['id']}", made["documents"]
    # Both pictures of the first document, one of them of two sentences; one of each other, that of the second of none.
    said = [(0, 0, 1), (0, 1, 2, 3), (1, 1), (2, 0, 4), (3, 1, 2)]
    for number, *answer in said:
        digest = server.ask("GET", f"/v1/documents/{documents[number]['id']}/review").json["digest"]
        body = verdict(documents[number]["id"], *answer) | {"digest": digest}
        assert server.ask("POST", f"{home}/verdicts", body).status == 201
    answer = server.ask("GET", f"{home}/corpus")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.body)) as packed:
        packed.extractall(tmp_path)
    corpus = tmp_path / "corpus.jsonl"
    assert "4 documents, nothing wrong" in program.run("corpus", "check", corpus).stdout
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    assert [row["links"] for row in rows] == [[[1, 0], [2, 1], [3, 1]], [], [[4, 0]], [[2, 0]]]
    assert [row["positions"] for row in rows] == [[2, 4], [4], [2], [4]]
    assert all((tmp_path / name).is_file() for row in rows for name in row["images"])
    assert not list((server.data / "exports").iterdir())
    server.ask("DELETE", home)


def test_the_corpus_is_one_that_evaluate_takes(server, opened, tmp_path):
    home, document = opened
    server.ask("POST", f"{home}/verdicts", verdict(document, 0, 1))
    server.ask("POST", f"{home}/verdicts", verdict(document, 1, 2))
    with zipfile.ZipFile(io.BytesIO(server.ask("GET", f"{home}/corpus").body)) as packed:
        packed.extractall(tmp_path)
    arguments = (tmp_path / "corpus.jsonl", "--json", "--evidence", "picture,caption,layout,reference")
    assert json.loads(program.run("evaluate", "default", *arguments).stdout)["image@1"] == 1
