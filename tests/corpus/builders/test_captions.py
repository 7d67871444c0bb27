"""The rules of the caption builder, checked by a checker that knows nothing of how it works."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from fitting.captioned_documents import build_captions
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.builders import captions
from iconotext.corpus.builders.captions import CaptionSettings, topical_groups, validation_as_test
from iconotext.corpus.builders.photos import Photo
from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.split import Shares, share_out
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError, SettingError
from tests.support.shards import write_jsonl


def some_photos(count, *, captions=5, split=None, start=0):
    return [
        Photo(f"{i}.jpg", tuple(f"Caption {c} of picture {i}." for c in range(captions)), split)
        for i in range(start, start + count)
    ]


MIXED = (
    some_photos(43, split="train")
    + some_photos(20, split="validation", start=100)
    + some_photos(20, split="test", start=200)
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
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(wanted=SETTINGS, seed=st.integers(-3, 10**9))
def test_every_document_keeps_the_rule(wanted, seed):
    documents = list(build_captions(MIXED, wanted, seed=seed))
    check_rule(documents, MIXED, wanted)
    counts = Counter(document.split for document in documents)
    evaluation = (20 // wanted.size) * (wanted.evaluation_shuffles or wanted.shuffles)
    assert counts["validation"] == counts["test"] == evaluation
    assert counts["train"] == (43 // wanted.size) * wanted.shuffles * min(wanted.versions, 5)
    assert documents == list(build_captions(MIXED, wanted, seed=seed))


def test_the_rule_of_mscoco_is_the_default():
    documents = list(build_captions(MIXED))
    assert Counter(document.split for document in documents) == {"train": 4 * 5, "validation": 2, "test": 2}
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
    photos = [Photo(f"{i}.jpg", tuple(f"{c} {i}" for c in range(1 + i % 2))) for i in range(20)]
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
    second = list(build_captions(photos, CaptionSettings(versions=1), seed=1))
    assert both[4:] == second
    assert both[:4] != second


def test_more_versions_do_not_change_the_first():
    photos = some_photos(40)
    few = {d.id: d for d in build_captions(photos, CaptionSettings(versions=2))}
    many = {d.id: d for d in build_captions(photos, CaptionSettings(versions=5))}
    assert few.items() <= many.items()


def test_captions_that_say_the_same_are_no_distractors():
    photos = [Photo(f"{i}.jpg", ("A dog runs.",)) for i in range(30)]
    photos += [Photo(f"{i}.jpg", ("a dog runs", f"Picture {i}")) for i in range(30, 60)]
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
    wanted = CaptionSettings(**captions.RULES["dii"])
    documents = list(build_captions(photos, wanted, vectors=vectors))
    check_rule(documents, photos, wanted)
    assert len(documents) == 12 * 5
    for document in documents:
        assert len({albums[int(image.file.stem)] for image in document.images}) == 1
    stress = CaptionSettings(**captions.RULES["dii-stress"])
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
    splits = ["test"] * 10 + [None] * 100
    shared = share_out(splits, Shares(0.2, 0.1), seed=3)
    assert shared[:10] == ["test"] * 10
    assert Counter(shared[10:]) == {"train": 70, "validation": 20, "test": 10}
    assert shared == share_out(splits, Shares(0.2, 0.1), seed=3) != share_out(splits, Shares(0.2, 0.1), seed=4)
    with pytest.raises(SettingError, match="have a split already"):
        share_out(splits[:10], Shares(0.2, 0.1))
    assert share_out([], Shares(0.2, 0.1)) == []


def test_photographs_for_validation_become_those_for_test():
    splits = ["train"] * 20 + ["validation"] * 5 + [None] * 5
    shared = share_out(validation_as_test(splits), Shares(0.2, 0))
    assert shared[20:25] == ["test"] * 5
    assert Counter([*shared[:20], *shared[25:]]) == {"train": 20, "validation": 5}
    with pytest.raises(SettingError, match="this has none for validation"):
        validation_as_test(splits[:20])
    with pytest.raises(SettingError, match="this has photographs for test already"):
        validation_as_test([*splits, "test"])


def written(path, photos):
    return write_jsonl(path, [{"image": f"pic:{p.image}", "captions": p.captions, "split": p.split} for p in photos])


def built(output, source, workers=1, **wanted):
    given = captions.Settings(source=source, **wanted)
    return build_corpus("captions", captions.documents, given, output, workers=workers)


@pytest.mark.slow
def test_the_builder_makes_what_is_made_in_memory(tmp_path):
    """Also by two workers; images that are addresses are taken as they are."""
    source = written(tmp_path / "captions.jsonl", MIXED)
    report = built(tmp_path / "one.jsonl", source, seed=5, shuffles=2)
    built(tmp_path / "two.jsonl", source, seed=5, shuffles=2, workers=2)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    found = [
        (d.id, d.split, d.sentences, d.links, [image.source for image in d.images])
        for d in read_corpus(tmp_path / "one.jsonl")
    ]
    assert found == [
        (d.id, d.split, d.sentences, d.links, [f"pic:{image.source}" for image in d.images])
        for d in build_captions(MIXED, CaptionSettings(shuffles=2), seed=5)
    ]
    assert {count.name: count.number for count in report.counts} == {
        "photographs that are there and have captions": 83,
        "photographs that are used": 83,
        "captions of them": 415,
        "photographs for train": 43,
        "photographs for validation": 20,
        "photographs for test": 20,
    }
    assert not (tmp_path / "one.building").exists()


def test_pictures_that_cannot_be_read_and_repeats_are_dropped(tmp_path, picture):
    lines = []
    for i in range(18):
        picture(f"img/{i}.png", seed=i, size=(8, 8))
        lines.append({"image": f"img/{i}.png", "captions": [f"About {i}.", " "]})
    (tmp_path / "img/1.png").write_text("no picture")
    whole = (tmp_path / "img/2.png").read_bytes()
    (tmp_path / "img/2.png").write_bytes(whole[: len(whole) // 2])
    lines += [{"image": "img/gone.png", "captions": ["A."]}, {"image": "img/3.png", "captions": ["Again."]}]
    source = write_jsonl(tmp_path / "captions.jsonl", ["{", "[]", *lines])
    report = built(tmp_path / "out/c.jsonl", source, distractor_captions=2)
    assert dict(report.dropped) == {
        "lines that are not a captioned photograph": 2,
        "captions without words": 18,
        "images that are not there": 1,
        "unreadable images": 2,
        "photographs that come twice": 1,
    }
    (document,) = read_corpus(tmp_path / "out/c.jsonl")
    assert all(image.source.startswith("../img/") and image.problem is None for image in document.images)
    assert {Path(image.source).stem for image in document.images}.isdisjoint({"1", "2", "gone"})
    report = built(tmp_path / "out/d.jsonl", source, distractor_captions=2, verify=False)
    assert report.dropped["unreadable images"] == 0
    assert report.counts[1].number == 18


def test_the_builder_says_what_it_cannot_do(tmp_path):
    source = written(tmp_path / "captions.jsonl", some_photos(30))
    with pytest.raises(SettingError, match="say how many"):
        built(tmp_path / "c.jsonl", source, test_on_validation=True)
    with pytest.raises(CorpusError, match=r"pic:0\.jpg: is an address"):
        built(tmp_path / "c.jsonl", source, topical=True)
    with pytest.raises(CorpusError, match="validation has 3 photographs"):
        built(tmp_path / "c.jsonl", source, validation=0.1)
    source.write_text("")
    with pytest.raises(CorpusError, match="nothing is left"):
        built(tmp_path / "c.jsonl", source)
    assert not list(tmp_path.glob("c.jsonl"))


def test_the_builder_groups_photographs_that_look_alike(tmp_path, picture, monkeypatch):
    albums = np.random.default_rng(1).permutation(np.repeat(np.arange(6), 5))
    for i in range(30):
        picture(f"{i}.png", seed=i, size=(4, 4))
    lines = [{"image": f"{i}.png", "captions": [f"About {i}."]} for i in range(30)]
    source = write_jsonl(tmp_path / "captions.jsonl", lines)

    def look(build, photos, settings):
        return np.eye(6, dtype=np.float32)[[albums[int(photo.file.stem)] for photo in photos]]

    monkeypatch.setattr(captions, "_vectors", look)
    built(tmp_path / "c.jsonl", source, rule="dii")
    documents = list(read_corpus(tmp_path / "c.jsonl"))
    assert len(documents) == 6
    for document in documents:
        assert len({albums[int(Path(image.source).stem)] for image in document.images}) == 1
