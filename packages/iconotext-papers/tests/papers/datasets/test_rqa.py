"""RQA, out of trees in the layout of RecipeQA."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.split import Shares, share_out
from iconotext.errors import CorpusError
from iconotext_papers.datasets.rqa import Settings, documents
from papers.support.builds import counts, documents_of_build
from papers.support.recipeqa import files, names_in, pictures, question, recipe, step

HELD_OUT = Settings.model_fields["validation"].default


def build(source, output, *, workers=1, **given):
    settings = Settings(**{"source": source, "validation": 0, **given})
    return documents_of_build(documents, settings, output, workers=workers)


def test_recipes_become_documents(tmp_path):
    cake = question(
        "crème-cake",
        step(0, "", "  Ingredients:\n\t2 eggs &amp; 1&nbsp;cup"),
        step(1, "Mix", "Mix it.", "crème-cake_1_0.jpg", "crème-cake_1_1.jpg", "crème-cake_1_1.jpg"),
        step(2, "Step 2: Bake", None, "crème-cake_2_0.jpg", "crème-cake_1_0.jpg"),
    )
    pie = question(
        "pie", step(0, "Eat", "", "pie_0_0.jpg"), step(1, " \n", "", "pie_1_0.jpg"), step(2, "", "It.", "pie_2_0.jpg")
    )
    source = files(tmp_path / "recipeqa", [cake, cake], [pie])
    pictures(source / "images/images-qa/train/images-qa", *names_in(cake))
    pictures(source / "images/images-qa/val/images-qa", *names_in(pie))
    documents, report, dropped = build(source, tmp_path / "out/rqa.jsonl")
    first, second = documents
    assert (first.id, first.split) == ("crème-cake", "train")
    assert [each.text for each in first.sentences] == ["Ingredients: 2 eggs & 1 cup", "Mix Mix it.", "Step 2: Bake"]
    ways = [image.source for image in first.images]
    assert ways == [
        f"../recipeqa/images/images-qa/train/images-qa/crème-cake_{n}.jpg" for n in ("1_0", "1_1", "2_0")
    ]  # fmt: skip
    assert all(image.file.is_file() for image in first.images)
    assert first.links == ((1, 0), (1, 1), (2, 2), (2, 0))
    assert first.meta == {"recipe": "crème-cake"}
    assert (second.id, second.split) == ("pie", "test")
    assert [each.text for each in second.sentences] == ["Eat", "It."]  # the empty step took its picture with it
    assert second.links == ((0, 0), (1, 1))
    assert dropped == []
    assert counts(report).items() >= {
        "train.json: questions": 2, "train.json: different recipes": 1, "train.json: recipes whose contexts differ": 0,
        "pictures of steps with text": 5, "pictures that are there": 5, "train.json: steps without text": 0,
        "val.json: steps without text": 1, "val.json: recipes with pictures of steps with text": 1,
        "val.json: recipes with 2 pictures and 2 steps": 1, "documents: train": 1, "documents: validation": 0,
        "documents: test": 1, "different images": 5, "sentences per document: most": 3,
        "recipes of the validation part that are in the training part too": 0,
        "links per 100 possible links": 46,  # 6 of 13
    }.items()  # fmt: skip
    published = {count.name: count.published for count in report.counts if count.published}
    assert published["train.json: questions"] == 29_600
    assert published["val.json: different recipes"] == 983
    assert [published[f"documents: {split}"] for split in ("train", "validation", "test")] == [6502, 946, 878]
    assert published["images per document: most"] == 93
    assert any("88K" in note for note in report.notes)


def test_the_rules_in_their_order(tmp_path):
    source = files(
        tmp_path / "recipeqa",
        [
            recipe("good"),
            question("textless", step(0, "", " "), step(1, None, None, "t_1_0.jpg", "t_1_1.jpg")),
            question("unlinked", step(0, "A", "a"), step(1, "", "", "u_1_0.jpg"), step(2, "B", "b")),
            question("one-picture", step(0, "A", "a", "o_0_0.jpg", "o_0_0.jpg"), step(1, "B", "b", "o_0_0.jpg")),
            question("one-step", step(0, "A", "a", "s_0_0.jpg", "s_0_1.jpg"), step(1, "", "", "s_1_0.jpg")),
            question("none"),
        ],
    )
    pictures(source / "images", "good_0_0.jpg", "good_1_0.jpg", "u_1_0.jpg", "o_0_0.jpg", "s_0_0.jpg", "s_0_1.jpg")
    documents, report, dropped = build(source, tmp_path / "rqa.jsonl")
    assert [document.id for document in documents] == ["good"]
    assert [(rule, item) for rule, item, _ in dropped] == [
        ("no image of a step with text", "textless"),
        ("no image of a step with text", "unlinked"),
        ("fewer than 2 images", "one-picture"),
        ("fewer than 2 steps", "one-step"),
        ("no image of a step with text", "none"),
    ]
    found = counts(report)
    assert found["train.json: different recipes"] == 6
    assert found["train.json: steps without text"] == 4
    assert found["train.json: recipes with pictures of steps with text"] == 3
    assert found["train.json: recipes with 2 pictures and 2 steps"] == 1
    assert found["pictures of steps with text"] == 5  # t_1 and u_1 and s_1 belong to none


def test_missing_and_broken_pictures_are_left_out(tmp_path):
    three, two = recipe("three", steps=3), recipe("two")
    source = files(tmp_path / "recipeqa", [three, two])
    pictures(source / "images", *names_in(three, two))
    (source / "images/three_0_0.jpg").unlink()
    (source / "images/two_1_0.jpg").write_bytes(b"<html>gone</html>")
    documents, _, dropped = build(source, tmp_path / "rqa.jsonl")
    (document,) = documents
    assert [image.source.rpartition("/")[2] for image in document.images] == ["three_1_0.jpg", "three_2_0.jpg"]
    assert len(document.sentences) == 3
    assert document.links == ((1, 0), (2, 1))
    missing, broken, few = dropped
    assert missing == ("picture that cannot be used", "three_0_0.jpg", "not found")
    assert broken[:2] == ("picture that cannot be used", "two_1_0.jpg")
    assert few == ("fewer than 2 images", "two", "training part")
    documents, _, _ = build(source, tmp_path / "unverified.jsonl", verify=False)
    assert [document.id for document in documents] == ["three", "two"]


def test_the_richest_context_of_a_recipe_counts(tmp_path):
    titles = question("cake", step(0, "Mix", "a"), step(1, "Bake", "b"))
    shown = question("cake", step(0, "", "a", "c_0.jpg"), step(1, "", "b", "c_1.jpg"))
    both = question("cake", step(0, "Mix", "a", "c_0.jpg"), step(1, "Bake", "b", "c_1.jpg"))
    later = question("cake", step(0, "Eat", "a", "c_0.jpg"), step(1, "Bake", "b", "c_1.jpg"))
    many = question("pie", step(0, "", "", "p_0.jpg", "p_1.jpg", "p_2.jpg"), step(1, "", "b", "p_3.jpg"))
    told = question("pie", step(0, "", "a", "p_0.jpg"), step(1, "", "b", "p_3.jpg"))
    source = files(tmp_path / "recipeqa", [titles, many, shown, both, told, later])
    pictures(source / "images", "c_0.jpg", "c_1.jpg", *(f"p_{i}.jpg" for i in range(4)))
    documents, report, _ = build(source, tmp_path / "rqa.jsonl")
    assert [(document.id, document.sentences[0].text) for document in documents] == [("cake", "Mix a"), ("pie", "a")]
    assert counts(report)["train.json: recipes whose contexts differ"] == 2
    assert counts(report)["train.json: questions"] == 6


def test_broken_questions_are_told_and_the_others_used(tmp_path):
    good = step(0, "A", "a", "g.jpg")
    broken = [
        None,
        {"recipe_id": "x"},
        question("", good),
        question(None, good),
        question("x", "no step"),
        question("x", good | {"images": "g.jpg"}),
        question("x", good | {"images": [3]}),
        question("x", good | {"title": 7}),
        question("x", context={"0": good}),
    ]
    source = files(tmp_path / "recipeqa", [*broken, recipe(42, steps=3), question("y", good | {"images": None})])
    pictures(source, "42_0_0.jpg", "42_1_0.jpg", "42_2_0.jpg")
    documents, report, dropped = build(source, tmp_path / "rqa.jsonl")
    assert [document.id for document in documents] == ["42"]
    assert [item for rule, item, _ in dropped if rule == "question that cannot be read"] == [
        f"train.json, question {i}" for i in range(len(broken))
    ]
    assert dropped[4][2] == "step 0 is not an object"
    assert counts(report)["train.json: questions"] == 11


def test_a_part_without_recipes_is_told_and_two_are_an_error(tmp_path):
    one = recipe("r", steps=2)
    source = files(tmp_path / "half", [one])
    pictures(source, *names_in(one))
    assert "val.json has no recipe" in build(source, tmp_path / "rqa.jsonl")[1].notes
    empty = files(tmp_path / "empty", [], [question(None)])
    with pytest.raises(CorpusError, match=r"train.json, .*val.json: no recipe in them; .*hucvl"):
        build(empty, tmp_path / "empty.jsonl")


def test_names_of_pictures_as_they_occur(tmp_path):
    """Some names have characters that were replaced in the archive; capitals and folders do not matter as such."""
    odd = question(
        "odd", step(0, "A", "a", "odd-*easy*_0_0.jpg"), step(1, "B", "b", "../../odd_1_0.jpg", "deep/odd_2.jpg")
    )
    other = question(
        "other", step(0, "A", "a", "odd-*easy*_0_0.jpg", "x" * 300), step(1, "B", "b", "deep/odd_2.jpg", "\0")
    )
    source = files(tmp_path / "recipeqa", [odd, other])
    pictures(source, "images/odd-_easy__0_0.jpg", "images/train/odd_2.jpg")
    documents, report, dropped = build(source, tmp_path / "rqa.jsonl")
    assert [[image.source for image in document.images] for document in documents] == [
        ["recipeqa/images/odd-_easy__0_0.jpg", "recipeqa/images/train/odd_2.jpg"]
    ] * 2
    assert counts(report)["different images"] == 2
    assert {item for _, item, _ in dropped} == {"../../odd_1_0.jpg", "x" * 300, ""}  # "\0" is not written


def test_names_alone_where_they_are_asked_for(tmp_path):
    source = files(tmp_path / "recipeqa", [recipe("cake")])
    with pytest.raises(
        CorpusError, match=r"none of the 2 pictures .* as cake_0_0.jpg: .*hucvl.*images=.*pictures=names"
    ):
        build(source, tmp_path / "rqa.jsonl")
    documents, report, _ = build(source, tmp_path / "rqa.jsonl", pictures="names")
    assert [image.source for image in documents[0].images] == ["recipeqa:cake_0_0.jpg", "recipeqa:cake_1_0.jpg"]
    assert "pictures that are there" not in counts(report)


def test_pictures_in_another_folder(tmp_path):
    source = files(
        tmp_path / "recipeqa/json", [recipe("cake")], names=("recipeqa36k_train.json", "recipeqa36k_val.json")
    )
    pictures(tmp_path / "elsewhere", "a/cake_0_0.jpg", "b/cake_1_0.jpg")
    documents, _, _ = build(tmp_path / "recipeqa", tmp_path / "rqa.jsonl", images=tmp_path / "elsewhere")
    assert [image.source for image in documents[0].images] == ["elsewhere/a/cake_0_0.jpg", "elsewhere/b/cake_1_0.jpg"]
    with pytest.raises(CorpusError, match="not a folder"):
        build(source, tmp_path / "other.jsonl", images=tmp_path / "gone")


def test_a_recipe_of_both_parts_keeps_both_documents(tmp_path):
    source = files(tmp_path / "recipeqa", [recipe("cake")], [recipe("cake"), recipe("pie")])
    pictures(source, *names_in(recipe("cake"), recipe("pie")))
    documents, report, _ = build(source, tmp_path / "rqa.jsonl")
    assert [(document.id, document.split) for document in documents] == [
        ("cake", "train"), ("cake#2", "test"), ("pie", "test"),
    ]  # fmt: skip
    assert counts(report)["recipes of the validation part that are in the training part too"] == 1


def test_missing_and_broken_files_are_named(tmp_path):
    source = files(tmp_path / "recipeqa", [recipe("cake")])
    (source / "val.json").write_text('{"version": 1, "recipes": []}')
    with pytest.raises(CorpusError, match=r'val.json: has no list "data"; .*hucvl'):
        build(source, tmp_path / "rqa.jsonl")
    (source / "val.json").unlink()
    with pytest.raises(
        CorpusError, match=r"val.json is neither in it nor in a folder in it.*hucvl.github.io/recipeqa/"
    ):
        build(source, tmp_path / "rqa.jsonl")


def test_as_many_recipes_as_in_the_paper_give_its_sizes():
    splits = share_out([None] * 7448, Shares(HELD_OUT, 0), seed=3)
    assert Counter(splits) == {"train": 6502, "validation": 946}


def test_recipes_are_reserved_at_random(tmp_path):
    questions = [recipe(f"r{i}") for i in range(40)]
    source = files(tmp_path / "recipeqa", questions, [recipe("v")])
    chosen = {}
    for seed in (0, 1):
        documents, _, _ = build(source, tmp_path / f"{seed}.jsonl", pictures="names", validation=HELD_OUT, seed=seed)
        assert [document.id for document in documents] == [f"r{i}" for i in range(40)] + ["v"]
        assert Counter(document.split for document in documents) == {"train": 35, "validation": 5, "test": 1}
        chosen[seed] = {document.id for document in documents if document.split == "validation"}
    assert chosen[0] != chosen[1]


NAMES = st.sampled_from(["a.jpg", "b.jpg", "c.jpg", "d.jpg", "gone.jpg"])
STEPS = st.builds(
    lambda title, body, images: step(0, title, body, *images),
    st.sampled_from(["", "T", None, " "]),
    st.sampled_from(["", "body", "\n", "a  b"]),
    st.lists(NAMES, max_size=3),
)
QUESTIONS = st.lists(
    st.builds(lambda name, steps: question(name, *steps), st.sampled_from("xyz"), st.lists(STEPS, max_size=4)),
    max_size=8,
)


def oracle(questions):
    """The rules once more, with whole lists: recipe, sentences, links by the names of pictures."""
    recipes: dict[str, Any] = {}
    for each in questions:
        kept = []
        for part in each["context"]:
            words = ((part["title"] or "") + " " + (part["body"] or "")).split()
            if words:
                kept.append((" ".join(words), sorted(set(part["images"]), key=part["images"].index)))
        rank = (len({n for _, names in kept for n in names}), len(kept), sum(len(text) for text, _ in kept))
        recipes.setdefault(each["recipe_id"], []).append((rank, kept))
    found = {}
    for name, contexts in recipes.items():
        best = max(rank for rank, _ in contexts)
        kept = next(kept for rank, kept in contexts if rank == best)
        there = [(text, [n for n in names if n != "gone.jpg"]) for text, names in kept]
        if len({n for _, names in there for n in names}) >= 2 and len(there) >= 2:
            found[name] = ([text for text, _ in there], [(s, n) for s, (_, names) in enumerate(there) for n in names])
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(training=QUESTIONS, validation=QUESTIONS)
def test_against_a_slow_oracle(tmp_path_factory, training, validation):
    folder = tmp_path_factory.mktemp("rqa")
    source = files(folder / "recipeqa", training, validation)
    pictures(source / "images", "a.jpg", "b.jpg", "c.jpg", "d.jpg")
    wanted = {"train": oracle(training), "test": oracle(validation)}
    if not any(wanted.values()):
        with pytest.raises(CorpusError):
            build(source, folder / "rqa.jsonl")
        return
    documents, _, _ = build(source, folder / "rqa.jsonl")
    found: dict[str, dict[str, Any]] = {"train": {}, "test": {}}
    for document in documents:
        names = [image.source.rpartition("/")[2] for image in document.images]
        assert len(set(names)) == len(names)
        links = [(sentence, names[image]) for sentence, image in document.links]
        assert {name for _, name in links} == set(names)
        found[document.split][document.meta["recipe"]] = ([each.text for each in document.sentences], links)
    assert found == wanted


def big(folder):
    """A part large enough for worker processes."""
    training = [recipe(f"t{i}", steps=3) for i in range(30)]
    validation = [recipe(f"v{i}", images=2) for i in range(20)]
    random.Random(0).shuffle(training)
    files(folder, training * 2, validation)
    pictures(folder / "images", *names_in(*training, *validation))
    (folder / "images/t3_0_0.jpg").write_bytes(b"")
    return folder
