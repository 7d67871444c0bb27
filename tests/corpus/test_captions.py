"""The rules of the caption builder, checked by a checker that knows nothing of how it works."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.builders.captions import (
    RULES,
    CaptionSettings,
    Photo,
    build_captions,
    read_photos,
    share_out,
    validation_as_test,
)
from iconotext.corpus.builders.topical import topical_groups
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, SettingError


def some_photos(count, *, captions=5, split=None, start=0):
    return [
        Photo(Path(f"{i}.jpg"), tuple(f"Caption {c} of picture {i}." for c in range(captions)), split)
        for i in range(start, start + count)
    ]


MIXED = (
    some_photos(43, split="train")
    + some_photos(20, split="validation", start=100)
    + some_photos(10, split="test", start=200)
)


def owner(text):
    """Number of the picture that a caption of ``some_photos`` is about."""
    return int(text.split()[-1].rstrip("."))


def check_rule(documents, photos, settings):
    """Everything that the supplement promises about documents."""
    split_of = {photo.file: photo.split or "train" for photo in photos}
    captions_of = {photo.file: photo.captions for photo in photos}
    assert len({document.id for document in documents}) == len(documents)
    for document in documents:
        files = [image.file for image in document.images]
        texts = [sentence.text for sentence in document.sentences]
        assert len(set(files)) == len(files) == settings.pairs + settings.distractor_images
        assert len(set(texts)) == len(texts) == settings.pairs + settings.distractor_captions
        assert {split_of[file] for file in files} == {document.split}
        assert len(document.links) == settings.pairs
        assert len({s for s, _ in document.links}) == len({i for _, i in document.links}) == settings.pairs
        linked = {s for s, _ in document.links}
        for s, i in document.links:
            assert texts[s] in captions_of[files[i]]
        numbers = {int(file.stem) for file in files}
        for s, text in enumerate(texts):
            if s not in linked:
                assert owner(text) not in numbers
            assert split_of[Path(f"{owner(text)}.jpg")] == document.split


SETTINGS = st.builds(
    CaptionSettings,
    pairs=st.integers(1, 5),
    distractor_images=st.integers(0, 4),
    distractor_captions=st.integers(0, 5),
    versions=st.integers(1, 6),
    shuffles=st.integers(1, 2),
    evaluation_shuffles=st.none() | st.integers(1, 3),
    seed=st.integers(-3, 10**9),
)


@settings(max_examples=40, deadline=None)
@given(wanted=SETTINGS)
def test_every_document_keeps_the_rule(wanted):
    photos = (
        some_photos(43, split="train")
        + some_photos(25, split="validation", start=100)
        + some_photos(25, split="test", start=200)
    )
    documents = list(build_captions(photos, wanted))
    check_rule(documents, photos, wanted)
    counts = Counter(document.split for document in documents)
    evaluation = (25 // wanted.images) * (wanted.evaluation_shuffles or wanted.shuffles)
    assert counts["validation"] == counts["test"] == evaluation
    assert counts["train"] == (43 // wanted.images) * wanted.shuffles * min(wanted.versions, 5)
    assert documents == list(build_captions(photos, wanted))


def test_the_rule_of_mscoco_is_the_default():
    photos = some_photos(43, split="train") + some_photos(20, split="validation", start=100)
    documents = list(build_captions(photos))
    assert Counter(document.split for document in documents) == {"train": 4 * 5, "validation": 2}
    assert {(len(d.sentences), len(d.images), len(d.links)) for d in documents} == {(10, 10, 5)}
    assert documents[0].id == "train-0-00000-0"


def test_versions_have_the_same_images_and_other_captions():
    versions = defaultdict(list)
    for document in build_captions(some_photos(20)):
        versions[document.id.rpartition("-")[0]].append(document)
    for group in versions.values():
        assert len(group) == 5
        assert len({document.images for document in group}) == 1
        assert len({tuple(sorted({i for _, i in document.links})) for document in group}) == 1
        true = [document.sentences[s].text for document in group for s, _ in document.links]
        assert len(set(true)) == 25  # every caption of the five true images, once


def test_validation_takes_the_first_caption():
    for document in build_captions(some_photos(30, split="validation")):
        assert all(document.sentences[s].text.startswith("Caption 0 ") for s, _ in document.links)


def test_a_picture_with_few_captions_starts_again_and_none_is_repeated_for_nothing():
    photos = [Photo(Path(f"{i}.jpg"), tuple(f"{c} {i}" for c in range(1 + i % 2))) for i in range(20)]
    documents = list(build_captions(photos))
    assert len(documents) <= 2 * 2
    assert len(list(build_captions(some_photos(20, captions=1)))) == 2


def test_the_benchmark_comes_out_of_one_setting():
    """Groups of ten in shuffled order, five shuffles: 500 documents from 1,000 photographs."""
    photos = some_photos(1000, split="validation")
    documents = list(build_captions(photos, CaptionSettings(evaluation_shuffles=5)))
    assert len(documents) == 500
    for start in range(0, 500, 100):  # each shuffle shows every photograph once
        shown = [image.file for document in documents[start : start + 100] for image in document.images]
        assert len(set(shown)) == 1000
    true = Counter(document.images[i].file for document in documents for _, i in document.links)
    assert sum(true.values()) == 2500
    assert len(true) > 900  # each is true with probability 1/2 in each of five shuffles: 969 are expected


def test_positions_say_nothing():
    """Over many documents every sentence is linked to every image equally often: nothing is left in its order."""
    seen = np.zeros((10, 10))
    for document in build_captions(some_photos(4000, split="validation")):
        for s, i in document.links:
            seen[s, i] += 1
    assert seen.sum() == 2000
    assert np.abs(seen - 20).max() < 25  # 5.6 standard deviations


def test_other_seeds_give_other_documents_and_seeds_line_up_with_shuffles():
    photos = some_photos(40)
    both = list(build_captions(photos, CaptionSettings(shuffles=2, versions=1)))
    second = list(build_captions(photos, CaptionSettings(seed=1, versions=1)))
    assert both[4:] == second
    assert both[:4] != second


def test_more_versions_do_not_change_the_first():
    photos = some_photos(40)
    few = {d.id: d for d in build_captions(photos, CaptionSettings(versions=2))}
    many = {d.id: d for d in build_captions(photos, CaptionSettings(versions=5))}
    assert few.items() <= many.items()


def test_captions_that_say_the_same_are_no_distractors():
    photos = [Photo(Path(f"{i}.jpg"), ("A dog runs.",)) for i in range(30)]
    photos += [Photo(Path(f"{i}.jpg"), ("a dog runs", f"Picture {i}")) for i in range(30, 60)]
    for document in build_captions(photos, CaptionSettings(pairs=1, distractor_images=0, distractor_captions=3)):
        texts = ["".join(filter(str.isalnum, sentence.text.casefold())) for sentence in document.sentences]
        assert len(set(texts)) == 4


def test_too_little_to_choose_from_is_said():
    with pytest.raises(CorpusError, match="validation has 9 photographs, a document needs 10"):
        next(build_captions(some_photos(20) + some_photos(9, split="validation", start=100)))
    with pytest.raises(CorpusError, match=r"45 distractor captions are asked for and .* have 25"):
        list(build_captions(some_photos(10), CaptionSettings(distractor_images=0, distractor_captions=45)))
    exact = CaptionSettings(distractor_images=0, distractor_captions=25, versions=1)
    check_rule(list(build_captions(some_photos(10), exact)), some_photos(10), exact)
    assert list(build_captions([])) == []


def test_topical_documents():
    rng = np.random.default_rng(0)
    photos = some_photos(60)
    albums = rng.permutation(np.repeat(np.arange(12), 5))
    vectors = (np.eye(12)[albums] + 0.01 * rng.normal(size=(60, 12))).astype(np.float32)
    wanted = CaptionSettings(**RULES["dii"])
    documents = list(build_captions(photos, wanted, vectors=vectors))
    check_rule(documents, photos, wanted)
    assert len(documents) == 12 * 5
    for document in documents:
        assert len({albums[int(image.file.stem)] for image in document.images}) == 1
    stress = CaptionSettings(**RULES["dii-stress"])
    documents = list(build_captions(photos, stress, vectors=vectors))
    check_rule(documents, photos, stress)
    assert {(len(d.sentences), len(d.images)) for d in documents} == {(50, 5)}
    for bad in (None, vectors[:-1], vectors[0]):
        with pytest.raises(SettingError, match="a vector for each of 60"):
            next(build_captions(photos, wanted, vectors=bad))


@settings(max_examples=40, deadline=None)
@given(count=st.integers(0, 40), size=st.integers(1, 6), seed=st.integers(0, 99))
def test_greedy_groups_against_a_slow_oracle(count, size, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(50, 4)).astype(np.float32)
    order = [int(i) for i in rng.permutation(50)[:count]]
    groups = topical_groups(order, vectors, size)
    unit = vectors - vectors[order].mean(axis=0) if order else vectors
    unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    left, wanted = list(order), []
    while len(left) >= size:
        first = left.pop(0)
        nearest = sorted(left, key=lambda i: -float(unit[first] @ unit[i]))[: size - 1]
        left = [i for i in left if i not in nearest]
        wanted.append([first, *nearest])
    assert groups == wanted


def test_shares_go_to_photographs_without_a_split():
    photos = some_photos(10, split="test") + some_photos(100, start=50)
    shared = share_out(photos, Shares(0.2, 0.1), seed=3)
    assert [photo.split for photo in shared[:10]] == ["test"] * 10
    assert Counter(photo.split for photo in shared[10:]) == {"train": 70, "validation": 20, "test": 10}
    assert shared == share_out(photos, Shares(0.2, 0.1), seed=3) != share_out(photos, Shares(0.2, 0.1), seed=4)
    with pytest.raises(SettingError, match="have a split already"):
        share_out(photos[:10], Shares(0.2, 0.1))


def test_photographs_for_validation_become_those_for_test():
    photos = [*some_photos(20, split="train"), *some_photos(5, split="validation", start=20), *some_photos(5, start=25)]
    shared = share_out(validation_as_test(photos), Shares(0.2, 0))
    assert [photo.split for photo in shared[20:25]] == ["test"] * 5
    assert Counter(photo.split for photo in [*shared[:20], *shared[25:]]) == {"train": 20, "validation": 5}
    assert [(photo.file, photo.captions) for photo in shared] == [(photo.file, photo.captions) for photo in photos]
    with pytest.raises(SettingError, match="this has none for validation"):
        validation_as_test(photos[:20])
    with pytest.raises(SettingError, match="this has photographs for test already"):
        validation_as_test([*photos, *some_photos(1, split="test", start=30)])


def lines(tmp_path, *values):
    path = tmp_path / "captions.jsonl"
    path.write_text("\n".join(value if isinstance(value, str) else json.dumps(value) for value in values))
    return path


def test_photographs_are_read(tmp_path, picture):
    picture("img/a.png")
    path = lines(tmp_path, {"image": "img/a.png", "captions": [" A  dog. "], "split": "test", "source": "x"}, "")
    assert read_photos(path) == [Photo(tmp_path / "img/a.png", ("A dog.",), "test")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "line 2: not JSON"),
        ({"image": "a.png"}, "line 2, field captions"),
        ({"image": "a.png", "captions": []}, "line 2, field captions"),
        ({"image": "a.png", "captions": [" "]}, "line 2, field captions.0"),
        ({"image": "a.png", "captions": ["A."], "split": "dev"}, "line 2, field split"),
        ({"image": "gone.png", "captions": ["A."]}, "line 2, field image: not found"),
        ({"image": "\0", "captions": ["A."]}, "line 2, field image: not found"),
        ({"image": "./a.png", "captions": ["A."]}, "line 2, field image: ./a.png is also in line 1"),
    ],
)
def test_bad_photographs(tmp_path, picture, value, message):
    picture("a.png")
    with pytest.raises(CorpusError, match=message):
        read_photos(lines(tmp_path, {"image": "a.png", "captions": ["A."]}, value))
