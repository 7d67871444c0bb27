"""Story-DII, Story-SIS and DII-Stress, out of trees in the layout of the Visual Storytelling Dataset."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext_papers.datasets import HESSEL_2019
from iconotext_papers.datasets.vist import Part, draw_distractors, join_captions, join_sentences
from papers.support.builds import counts, documents_of_build
from papers.support.stories import (
    DII_FILE,
    FIVE,
    OTHERS,
    SIS_FILE,
    THIRD,
    caption,
    described,
    photos,
    sentence,
    told,
    vist,
)

story_dii, story_sis, dii_stress = HESSEL_2019[1:4]


def build(data_set, source, output, *, workers=1, **given):
    settings, documents = data_set.load()
    values = settings(**{"source": source, "text": "original_text", **given})
    return documents_of_build(documents, values, output, workers=workers)


def test_names_are_anonymised_as_in_the_papers_figure():
    for data_set in (story_dii, story_sis):
        assert data_set.load()[0](source="s").text == "text"  # Figure 2: "[male] and [male] went to a fair"


@pytest.fixture
def source(tmp_path):
    """One album for each split; the pictures stand as people unpack them."""
    vist(
        tmp_path / "VIST",
        DII_FILE,
        described("a", FIVE, versions=3),
        described("b", OTHERS),
        described("c", THIRD),
        albums=[("a", "A day  at the &amp; sea"), ("b", "Überfahrt"), ("x", None), ("c", "")],
        inside="dii",
    )
    photos(tmp_path / "VIST/images", *(f"train_split.0/train/{name}" for name in FIVE[:3]), "train/14.PNG", "15.jpeg")
    photos(tmp_path / "VIST/images/val", *OTHERS)
    photos(tmp_path / "VIST/images/test", *THIRD)
    return tmp_path / "VIST"


def test_a_story_becomes_a_document(source, tmp_path):
    documents, report, dropped = build(story_dii, source, tmp_path / "out/dii.jsonl")
    assert [document.id for document in documents] == ["dii-a-1", "dii-a-2", "dii-a-3", "dii-b-1", "dii-c-1"]
    assert [document.split for document in documents] == ["train"] * 3 + ["validation", "test"]
    second = documents[1]
    assert [each.text for each in second.sentences] == [f"Version 2 of {photo}." for photo in FIVE]
    assert [image.source for image in second.images] == [
        "../VIST/images/train_split.0/train/11.jpg",
        "../VIST/images/train_split.0/train/12.jpg",
        "../VIST/images/train_split.0/train/13.jpg",
        "../VIST/images/train/14.PNG",
        "../VIST/images/15.jpeg",
    ]
    assert all(image.file.is_file() for image in second.images)
    assert second.links == tuple((i, i) for i in range(5))
    assert second.meta == {"album_id": "a", "version": 2, "title": "A day at the & sea"}
    assert [document.title for document in documents] == ["A day at the & sea"] * 3 + ["Überfahrt", None]
    assert counts(report).items() >= {
        "photographs that annotations name": 15, "photographs that are there": 15, "stories with 5 sentences: train": 3,
        "stories with 5 sentences: validation": 1, "stories with 5 sentences: test": 1, "documents: train": 3,
        "documents that show a photograph twice": 0, "links per 100 possible links": 20,
    }.items()  # fmt: skip
    published = {count.name: (count.published, count.rounding) for count in report.counts if count.published}
    assert published["documents: train"] == (22_000, 1000)
    assert published["different images"] == (47_000, 1000)
    assert published["links per 100 possible links"] == (20, 1)
    assert dropped == []


def test_any_missing_or_broken_photograph_drops_the_story(source, tmp_path):
    (source / "images/val/22.jpg").unlink()
    (source / "images/val/25.jpg").unlink()
    whole = (source / "images/test/33.jpg").read_bytes()
    (source / "images/test/33.jpg").write_bytes(whole[: len(whole) // 2])
    documents, report, dropped = build(story_dii, source, tmp_path / "dii.jsonl")
    assert {document.id for document in documents} == {"dii-a-1", "dii-a-2", "dii-a-3"}
    missing, broken = dropped
    assert missing == ("story with a missing photograph", "dii-b-1", "22: not found; 25: not found")
    assert broken[:2] == ("story with a photograph that cannot be read", "dii-c-1")
    assert broken[2].startswith("33: ")
    assert counts(report)["photographs that are there"] == 13
    documents, _, _ = build(story_dii, source, tmp_path / "unverified.jsonl", verify=False)
    assert {document.id for document in documents} == {"dii-a-1", "dii-a-2", "dii-a-3", "dii-c-1"}


def test_the_text_in_tokens_can_be_had(source, tmp_path):
    documents, _, _ = build(story_dii, source, tmp_path / "dii.jsonl", text="text")
    assert documents[0].sentences[0].text == "version 1 of 11 ."


def test_photographs_elsewhere_and_files_beside_each_other(tmp_path):
    vist(tmp_path / "json", DII_FILE, described("a", FIVE))
    photos(tmp_path / "pictures/deep", *FIVE)
    documents, _, _ = build(story_dii, tmp_path / "json", tmp_path / "dii.jsonl", images=tmp_path / "pictures")
    assert documents[0].images[0].source == "pictures/deep/11.jpg"


def test_broken_annotations_are_told_and_the_others_used(tmp_path):
    broken = [
        "nothing",
        [],
        [7],
        caption("a", "11", "first"),
        caption("a", "11", -1),
        caption("a", "11", True),
        caption("a", None, 0),
        caption(" ", "11", 0),
        caption("a", "11", 0, original_text=None),
        caption("a", "11", 5),
        caption("z", "19", 0),
    ]
    loose = [annotation[0] | {"photo_order_in_story": str(i)} for i, annotation in enumerate(described(7, OTHERS))]
    vist(tmp_path / "VIST", DII_FILE, [*broken, *described("a", FIVE), *loose])
    photos(tmp_path / "VIST", *FIVE, *OTHERS)
    documents, _, dropped = build(story_dii, tmp_path / "VIST", tmp_path / "dii.jsonl")
    assert [document.id for document in documents] == ["dii-a-1", "dii-7-1"]
    assert [(rule, item.removeprefix("train.description-in-isolation.json, ")) for rule, item, _ in dropped] == [
        *(("annotation that cannot be read", f"annotation {i}") for i in range(9)),
        ("caption without a place in a story", "photograph 11"),
        ("story that is not whole", "dii-z-1"),
    ]
    assert dropped[8][2] == "original_text is no text"
    assert dropped[10][2] == "1 of 5 captions"


def test_hostile_texts_and_ids(tmp_path):
    annotations = [
        *described("a\ud800", ["\ud800", "../11", "x" * 5000, "\0", "11"]),
        *(caption("b", photo, place, text) for place, (photo, text) in enumerate(zip(FIVE, "vw \tz", strict=True))),
        *(caption("ü", photo, place, f"Ein\n<b> Bild&nbsp;\ud800 {place}") for place, photo in enumerate(FIVE)),
    ]
    vist(tmp_path / "VIST", DII_FILE, annotations)
    photos(tmp_path / "VIST", *FIVE)
    documents, _, dropped = build(story_dii, tmp_path / "VIST", tmp_path / "dii.jsonl")
    assert [document.id for document in documents] == ["dii-ü-1"]
    assert documents[0].sentences[1].text == "Ein <b> Bild ? 1"
    found = {rule: (item, reason) for rule, item, reason in dropped}
    assert found["story with an empty sentence"] == ("dii-b-1", "about 13, 14")


def test_stories_in_sequence(tmp_path):
    first = told("a", ["15", "11", "12", "13", "14"], "100")
    again = told("a", ["11", "11", "12", "13", "14"], 101)
    mixed = [sentence for pair in zip(first, reversed(again), strict=True) for sentence in pair]
    annotations = [
        *mixed,
        *told("a", FIVE[:4], "102"),
        *(sentence("a", photo, 3, "103") for photo in FIVE),
        *told("a", FIVE[:3], "104"), *(sentence("b", photo, place, "104") for photo, place in (("14", 3), ("15", 4))),
        sentence("a", "11", 0, "100"),
    ]  # fmt: skip
    vist(tmp_path / "VIST", SIS_FILE, annotations, told("c", FIVE, "100"), albums=[("a", "Fair")])
    photos(tmp_path / "VIST/images/train", *FIVE)
    documents, report, dropped = build(story_sis, tmp_path / "VIST", tmp_path / "sis.jsonl")
    assert [document.id for document in documents] == ["sis-100", "sis-101"]
    assert [image.source.rpartition("/")[2] for image in documents[0].images] == [
        "15.jpg", "11.jpg", "12.jpg", "13.jpg", "14.jpg",
    ]  # fmt: skip
    assert [each.text for each in documents[0].sentences][:2] == ["We saw 15 in story 100.", "We saw 11 in story 100."]
    assert documents[0].meta == {"album_id": "a", "story_id": "100", "title": "Fair"}
    assert documents[1].images[0].source == documents[1].images[1].source
    assert counts(report)["documents that show a photograph twice"] == 1
    rules = Counter((rule, item) for rule, item, _ in dropped)
    assert rules == {
        ("story that is not whole", "sis-102"): 1,
        ("story with two sentences at one place", "sis-103"): 1,
        ("story of several albums", "sis-104"): 1,
        ("sentence of a story that is whole", "sis-100"): 1 + 5,
    }


def test_missing_files_are_named_with_where_to_get_them(tmp_path):
    photos(tmp_path, *FIVE)
    with pytest.raises(CorpusError, match=r"train.description-in-isolation.json.*DII-with-labels.*visionandlanguage"):
        build(story_dii, tmp_path, tmp_path / "dii.jsonl")
    vist(tmp_path / "sis", SIS_FILE, told("a", FIVE, "1"))
    (tmp_path / "sis/test.story-in-sequence.json").unlink()
    with pytest.raises(
        CorpusError, match=r"test.story-in-sequence.json is neither in it nor in a folder in it.*SIS-with-labels"
    ):
        build(story_sis, tmp_path, tmp_path / "sis.jsonl")
    with pytest.raises(CorpusError, match="no such file or folder"):
        build(story_sis, tmp_path / "gone", tmp_path / "sis.jsonl")


def test_a_split_without_stories_is_told_and_three_are_an_error(tmp_path):
    vist(tmp_path / "VIST", DII_FILE, described("a", FIVE))
    photos(tmp_path / "VIST", *(f"{photo}.jpg" for photo in FIVE))
    notes = build(story_dii, tmp_path / "VIST", tmp_path / "dii.jsonl")[1].notes
    assert [note for note in notes if "no annotation" in note] == [
        f"{split}.description-in-isolation.json has no annotation that can be read" for split in ("val", "test")
    ]
    vist(tmp_path / "empty", DII_FILE, [])
    with pytest.raises(CorpusError, match=r"train.description.*no annotation in them; .*DII-with-labels.*VIST"):
        build(story_dii, tmp_path / "empty", tmp_path / "empty.jsonl")


def test_no_photograph_at_all_is_an_error(tmp_path):
    vist(tmp_path / "VIST", DII_FILE, described("a", FIVE))
    with pytest.raises(CorpusError, match=r"has none of the 5 photographs .* as 11.jpg: .*visionandlanguage.*images="):
        build(story_dii, tmp_path / "VIST", tmp_path / "dii.jsonl")
    with pytest.raises(CorpusError, match="not a folder"):
        build(story_dii, tmp_path / "VIST", tmp_path / "dii.jsonl", images=tmp_path / "gone")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"annotations": [[{"a"', "cut off, or not the JSON that is expected"),
        ('{"images": []}', 'has no list "annotations"'),
        ("[]", "not the JSON that is expected"),
        ("", "not the JSON that is expected"),
        ('{"notes": []}', 'has no list "annotations"'),
    ],
)
def test_broken_files_are_named(source, tmp_path, text, message):
    (source / "dii/val.description-in-isolation.json").write_text(text)
    with pytest.raises(CorpusError, match=rf"val.description-in-isolation.json: .*{message}.*visionandlanguage"):
        build(story_dii, source, tmp_path / "dii.jsonl")
    assert not (tmp_path / "dii.jsonl").exists()


def parts_of(album, versions, order):
    """Captions of an album, each once, in some order; the text says which it is."""
    parts = [Part(album, f"{album}{place}", f"{version}", place) for version in range(versions) for place in range(5)]
    order.shuffle(parts)
    return parts


@settings(max_examples=80, deadline=None)
@given(versions=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 10**6))
def test_captions_in_any_order_make_as_many_stories(versions, seed):
    order = random.Random(seed)
    parts = [part for album, count in enumerate(versions) for part in parts_of(str(album), count, order)]
    order.shuffle(parts)
    lost = []
    stories = list(join_captions({"train": parts}, lambda *told: lost.append(told)))
    assert lost == []
    assert Counter(parts[0].album for _, _, parts, _ in stories) == {str(i): count for i, count in enumerate(versions)}
    assert len({id for _, id, _, _ in stories}) == len(stories)
    for _, id, members, meta in stories:
        assert [part.place for part in members] == [0, 1, 2, 3, 4]
        assert {part.album for part in members} == {id.split("-")[1]}
        assert 1 <= meta["version"] <= versions[int(members[0].album)]
    used = Counter(part for _, _, members, _ in stories for part in members)
    assert used == Counter(parts)


@pytest.mark.parametrize("grouped", [False, True])
def test_whole_runs_stay_together(grouped):
    """As published: whole runs, of which the text says the number."""
    albums = "aabaab"
    parts = [Part(album, f"{n}", f"{n}", place) for n, album in enumerate(albums) for place in range(5)]
    if grouped:  # all captions of one photograph together: other stories, but as many
        parts.sort(key=lambda part: (part.album, part.place, part.text))
    stories = list(join_captions({"train": parts}, lambda *told: pytest.fail(f"{told}")))
    assert sorted(members[0].album for _, _, members, _ in stories) == sorted(albums)
    if not grouped:
        assert [[part.text for part in members] for _, _, members, _ in stories] == [[str(n)] * 5 for n in range(6)]
        assert [meta["version"] for _, _, _, meta in stories] == [1, 2, 1, 3, 4, 2]


def test_a_gap_in_a_run_costs_one_document():
    """The fixed set is the same in all runs, so that a later caption may fill the gap."""
    parts = [
        Part("a", f"p{place}", str(run), place) for run in range(3) for place in range(5) if (run, place) != (0, 2)
    ]
    lost = []
    stories = list(join_captions({"train": parts}, lambda *told: lost.append(told)))
    assert [[part.text for part in members] for _, _, members, _ in stories] == [["1"] * 5, ["2"] * 5]
    assert [meta["version"] for _, _, _, meta in stories] == [2, 3]
    assert lost == [("story that is not whole", "dii-a-1", "4 of 5 captions")]


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(1, 5), max_size=6), seed=st.integers(0, 10**6))
def test_sentences_in_any_order_make_the_same_stories(lengths, seed):
    parts = [
        Part("a", f"{story}{i}", "x", i, str(story)) for story, length in enumerate(lengths) for i in range(length)
    ]
    random.Random(seed).shuffle(parts)
    lost = []
    stories = list(join_sentences({"train": parts}, lambda *told: lost.append(told[1])))
    whole = {f"sis-{story}" for story, length in enumerate(lengths) if length == 5}
    assert {id for _, id, _, _ in stories} == whole
    assert sorted(lost) == sorted({f"sis-{story}" for story in range(len(lengths))} - whole)
    for _, id, members, _ in stories:
        assert [part.photo for part in members] == [f"{id.removeprefix('sis-')}{i}" for i in range(5)]


def many(folder, albums=12, versions=2):
    """Albums in all three splits."""
    parts = {"train": range(albums), "val": range(100, 100 + albums), "test": range(200, 200 + albums)}
    names = {split: [[f"{album}0{i}" for i in range(5)] for album in numbers] for split, numbers in parts.items()}
    vist(
        folder,
        DII_FILE,
        *(
            [
                each
                for album, five in zip(numbers, names[split], strict=True)
                for each in described(album, five, versions)
            ]
            for split, numbers in parts.items()
        ),
    )
    photos(folder / "images", *(name for fives in names.values() for five in fives for name in five))
    return folder


def test_stress_documents_keep_the_rule(tmp_path):
    source = many(tmp_path / "VIST")
    plain, _, _ = build(story_dii, source, tmp_path / "dii.jsonl")
    stress, report, _ = build(dii_stress, source, tmp_path / "stress.jsonl")
    assert [document.id for document in stress] == [document.id for document in plain]
    owner = {s.text: (d.split, d.images[i].source) for d in plain for i, s in enumerate(d.sentences)}
    orders = set()
    for before, after in zip(plain, stress, strict=True):
        assert after.images == before.images
        assert after.split == before.split
        assert len(after.sentences) == 50
        texts = [sentence.text for sentence in after.sentences]
        assert len(set(texts)) == 50
        assert sorted(image for _, image in after.links) == [0, 1, 2, 3, 4]
        for place, image in after.links:
            assert texts[place] == before.sentences[image].text
        own = {image.source for image in before.images}
        for place in set(range(50)) - {place for place, _ in after.links}:
            split, image = owner[texts[place]]
            assert split == after.split
            assert image not in own
        orders.add(tuple(place for place, _ in sorted(after.links, key=lambda link: link[1])))
    assert len(orders) == len(stress)  # sentences are in another order in each
    found = counts(report)
    assert found["links per 100 possible links"] == 2
    assert found["sentences per document: median"] == 50
    assert found["captions of documents whose very words are among the distractors"] == 0


def test_dropped_stories_give_no_distractors(tmp_path):
    source = many(tmp_path / "VIST", albums=3)
    (source / "images/000.jpg").unlink()
    documents, _, _ = build(dii_stress, source, tmp_path / "s.jsonl", distractors=10)
    gone = {f"Version {version} of 00{i}." for version in (1, 2) for i in range(5)}
    for document in documents:
        assert not gone & {sentence.text for sentence in document.sentences}
        assert len(document.sentences) == 15


def test_too_few_captions_are_told(tmp_path):
    source = many(tmp_path / "VIST", albums=2)
    with pytest.raises(CorpusError, match=r"dii-0-1: 45 captions .* are needed, and there are 10.*distractors=10"):
        build(dii_stress, source, tmp_path / "s.jsonl")
    documents, _, _ = build(dii_stress, source, tmp_path / "s.jsonl", distractors=10)
    assert {len(document.sentences) for document in documents} == {15}


def test_the_seed_chooses_and_no_other_thing(tmp_path):
    source = many(tmp_path / "VIST", albums=6)
    bytes_of = {}
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        build(dii_stress, source, tmp_path / f"{name}.jsonl", distractors=20, seed=seed)
        bytes_of[name] = (tmp_path / f"{name}.jsonl").read_bytes()
    assert bytes_of["a"] == bytes_of["b"] != bytes_of["c"]


@settings(max_examples=60, deadline=None)
@given(
    captions=st.lists(st.lists(st.tuples(st.text(max_size=4), st.sampled_from("abcdef")), min_size=2, max_size=2)),
    without=st.sets(st.sampled_from("abcdefg")),
    count=st.integers(0, 12),
    seed=st.integers(0, 99),
)
def test_drawn_captions_against_a_slow_oracle(captions, without, count, seed):
    allowed = Counter(text for story in captions for text, picture in story if picture not in without)
    if allowed.total() < count:
        with pytest.raises(CorpusError, match=f"there are {allowed.total()}"):
            draw_distractors(random.Random(seed), captions, count, without, "x")
        return
    drawn = draw_distractors(random.Random(seed), captions, count, without, "x")
    assert len(drawn) == count
    assert not Counter(drawn) - allowed


def test_captions_are_drawn_uniformly():
    captions = [[(str(3 * story + i), str(story)) for i in range(3)] for story in range(10)]
    seen: Counter[str] = Counter()
    for seed in range(3000):
        seen.update(draw_distractors(random.Random(seed), captions, 9, {"0"}, "x"))
    assert not {"0", "1", "2"} & seen.keys()
    assert len(seen) == 27
    assert all(abs(number - 1000) < 5 * 26 for number in seen.values())  # 26 is the standard deviation
