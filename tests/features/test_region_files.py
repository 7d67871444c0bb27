"""What is common to files of regions: whose they are, what is seen in them, which file is which."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import FeatureError
from iconotext.features import FeatureCache, load_regions, regions
from iconotext.features.region_files import is_region_file, load_region_file
from tests.support.detected_regions import (
    IDS,
    NAMES,
    ONE,
    Regional,
    anderson,
    b64,
    check,
    image,
    joined,
    lxmert,
    mcan,
    three,
    vilbert,
    write_names,
    write_tsv,
)


@pytest.fixture
def found():
    return three()


def opened(folder, rows, name="a.tsv"):
    return load_region_file(write_tsv(folder / name, rows))


def regions_of(source, *names):
    return joined(source.regions([image(name) for name in names]))


@pytest.mark.parametrize(
    ("ids", "source", "expected"),
    [
        (["img/a.jpg", "b"], "img/a.jpg", "img/a.jpg"),
        (["a.jpg"], "img/a.jpg", "a.jpg"),
        (["a.jpg"], "img\\a.jpg", "a.jpg"),
        (["a"], "https://example.org/img/a.jpg", "a"),
        (["123456"], "val2014/COCO_val2014_000000123456.jpg", "123456"),
        (["123456"], "000000123456.jpg", "123456"),
        (["12"], "0012.png", "12"),
        (["coco_val2014_000000123456"], "COCO_val2014_000000123456.jpg", "coco_val2014_000000123456"),
        (["img/a.jpg", "a"], "img/a.jpg", "img/a.jpg"),  # the whole address is the picture's own name
        (["3"], "figure-3.png", None),
        (["123456"], "IMG_20200101_123456.jpg", None),
        (["b"], "a.jpg", None),
        (["a"], "", None),
        (["0"], "0" * 12 + ".jpg", None),
        (["1" * 6000], "0" + "1" * 6000 + ".jpg", "1" * 6000),
    ],
)
def test_a_picture_is_found_by_its_address(tmp_path, ids, source, expected):
    rows = [anderson(name, Regional(seed, seed + 1)) for seed, name in enumerate(ids)]
    regions = regions_of(opened(tmp_path, rows), source)
    assert regions.counts.tolist() == [0 if expected is None else ids.index(expected) + 1]


@pytest.mark.parametrize(
    ("ids", "source"), [(["a.jpg", "a"], "img/a.jpg"), (["12", "0012"], "0012.jpg"), (["a", "A"], "img/A.jpg")]
)
def test_a_picture_that_may_be_several_is_an_error(tmp_path, ids, source):
    loaded = opened(tmp_path, [anderson(name, Regional(0)) for name in ids])
    with pytest.raises(FeatureError, match=r"may be any of .*name one of them") as error:
        loaded.regions([image(source)])
    assert all(name in str(error.value) for name in ids)


def test_pictures_of_different_names_do_not_become_one(tmp_path):
    loaded = opened(tmp_path, [anderson("12", Regional(0))])
    assert regions_of(loaded, "a/12.jpg", "b/12.jpg").counts.tolist() == [3, 3]  # copies in two documents
    with pytest.raises(FeatureError, match="would both be image 12"):
        loaded.regions([image("12.jpg"), image("0012.jpg")])


def test_features_of_different_lengths(tmp_path):
    source = opened(tmp_path, [anderson("a", Regional(0)), anderson("b", Regional(0, dim=9))])
    with pytest.raises(FeatureError, match=r"image b: features of length 9, others have 8"):
        source.regions([image("b")])


def test_objects_that_have_no_name(tmp_path):
    one = Regional(0)
    one.objects[1] = 4
    path = write_tsv(tmp_path / "a.tsv", [lxmert("a", one)])
    load_region_file(path)
    write_names(tmp_path)
    with pytest.raises(FeatureError, match=r"do not fit 4 names of concepts; .*__background__"):
        load_region_file(path)
    (tmp_path / "objects_vocab.txt").write_text("\n".join(["__background__", *NAMES]))
    one.objects[:] = [0, 4, 2]
    regions = regions_of(opened(tmp_path, [lxmert("a", one)]), "a")
    assert regions.concepts.tolist() == [-1, 4, 2]
    np.testing.assert_allclose(regions.scores, [0, *one.sure[1:]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1: empty"),
        (b"a\n\nb", "line 2: empty"),
        (b"a\n,b", "line 2"),
        (b"\xff\xfe", r"objects_vocab.txt: is not UTF-8"),
    ],
)
def test_names_of_concepts_that_are_damaged(tmp_path, text, message):
    (tmp_path / "objects_vocab.txt").write_bytes(text)
    with pytest.raises(FeatureError, match=message):
        opened(tmp_path, [lxmert("a", Regional(0))])


def test_names_of_concepts_for_one_file_go_first(tmp_path, found):
    path = write_tsv(tmp_path / "a.tsv.0", [lxmert(*one) for one in found.items()])
    (tmp_path / "objects_vocab.txt").write_text("one\ntwo\nthree\nfour\n")
    assert load_region_file(path).concepts == ("one", "two", "three", "four")
    write_names(tmp_path, "a.concepts.txt")
    check(load_region_file(path), found, named=True)


def test_what_is_a_region_file(tmp_path, models):
    for name in ("a.tsv", "a.tsv.3", "dir/A.TSV"):
        assert is_region_file(tmp_path / name)  # whether or not it is there
    for name in ("a.csv", "tsv", "efficientnet-lite0", "org/model", "a.tsv.gz", "", "a.npz"):
        assert not is_region_file(tmp_path / name)
    assert not is_region_file(tmp_path)
    assert not is_region_file(models / "resnet")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.tsv", "not found"),
        ("no/such/folder", "not found"),
        ("a.txt", "not a file of regions"),
        ("folder.tsv", r"folder.tsv: cannot be read"),
    ],
)
def test_a_file_that_is_not_there_or_of_another_kind(tmp_path, name, message):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(FeatureError, match=message):
        load_region_file(tmp_path / name)


def test_the_name_follows_from_what_is_in_the_file(tmp_path):
    rows = [lxmert(name, Regional(i)) for i, name in enumerate("ab")]
    (tmp_path / "other").mkdir()
    names = {opened(folder, rows).name for folder in (tmp_path, tmp_path / "other")}
    assert len(names) == 1  # wherever and whenever it was written
    names.add(opened(tmp_path, rows[:1]).name)
    write_names(tmp_path)
    names.add(load_region_file(tmp_path / "a.tsv").name)
    assert len(names) == 3
    assert all(name.startswith("a.tsv@") for name in names)


def test_the_name_of_a_folder(tmp_path):
    for seed in (0, 1):
        folder = tmp_path / str(seed) / "npz"
        folder.mkdir(parents=True)
        np.savez(folder / "a.npz", **mcan("a", Regional(seed)))
    first, second = (load_region_file(tmp_path / str(seed) / "npz").name for seed in (0, 1))
    assert first.split("@")[0] == second.split("@")[0] == "npz"
    assert first != second


def test_load_regions_takes_files_and_does_not_cache_them(tmp_path, found):
    path = write_tsv(tmp_path / "a.tsv", [lxmert(*one) for one in found.items()])
    cache = FeatureCache(tmp_path / "features.sqlite")
    check(load_regions(str(path), cache=cache), found, named=False)
    assert not cache.path.exists()


def test_no_pictures_at_all(tmp_path):
    assert opened(tmp_path, [anderson("a", ONE)]).regions([]) == []


def test_a_file_that_goes_away(tmp_path):
    source = opened(tmp_path, [anderson("a", ONE)])
    (tmp_path / "a.tsv").unlink()
    with pytest.raises(FeatureError, match=r"a.tsv: cannot be read: No such file"):
        source.regions([image("a")])


def test_a_confidence_that_rounding_took_beyond_1(tmp_path):
    one = Regional(0)
    one.sure[0] = 1.0000001
    assert regions_of(opened(tmp_path, [lxmert("a", one)]), "a").scores[0] == 1


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 300), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_boxes_in_pixels_become_shares(count, width, height, seed):
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-5, 305, (count, 2, 2))  # some beyond the picture
    boxes = np.concatenate([corners.min(1), corners.max(1)], axis=1)
    boxes[0, 3] = 306  # in pixels without doubt
    stored = {"features": np.zeros((count, 2), np.float32), "boxes": boxes, "img_w": width, "img_h": height}
    row = regions.region_row({name: np.array(value) for name, value in stored.items()}, None, "x")
    for box, found in zip(boxes, row.boxes, strict=True):
        sides = (width, height, width, height)
        shares = [min(max(edge / side, 0), 1) for edge, side in zip(box, sides, strict=True)]
        np.testing.assert_allclose(found, shares, atol=1e-6)


def in_shares(name, one):
    """A line of Anderson's layout whose boxes are shares already."""
    return [name, 200, 100, one.count, b64(one.shares), b64(one.features)]


@pytest.mark.parametrize(
    ("layout", "names", "sure"),
    [
        (anderson, False, False),
        (anderson, True, False),  # names without what the regions show are no concepts
        (lxmert, True, True),
        (lxmert, False, True),  # how sure the detector was counts without names too
        (vilbert, True, True),  # probabilities, the background first
        (in_shares, False, False),
    ],
)
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_tsv_of_each_layout(tmp_path, found, layout, names, sure, end):
    path = write_tsv(tmp_path / "a.tsv", [layout(*one) for one in found.items()], end)
    if names:
        write_names(tmp_path)
    check(load_region_file(path), found, named=names and sure, sure=sure)


def test_tsv_with_features_of_2048_numbers(tmp_path):
    found = {str(i): Regional(i, 36, 2048) for i in range(2)}
    check(opened(tmp_path, [anderson(*one) for one in found.items()]), found, named=False, sure=False)


def test_tsv_in_parts(tmp_path, found):
    for number, one in enumerate(found.items()):
        write_tsv(tmp_path / f"train.tsv.{number}", [lxmert(*one)])
    (tmp_path / "readme.md").write_text("x")
    write_names(tmp_path)
    assert is_region_file(tmp_path)
    check(load_region_file(tmp_path), found, named=True)
    assert regions_of(load_region_file(tmp_path / "train.tsv.1"), IDS[1]).counts.tolist() == [5]
    write_tsv(tmp_path / "more.tsv", [lxmert(*one) for one in list(found.items())[:1]])
    with pytest.raises(FeatureError, match=r"image 7 is in more.tsv too"):
        load_region_file(tmp_path)


def test_tsv_of_a_picture_without_regions(tmp_path):
    empty = ["nothing", 200, 100, 0, "", ""]
    source = opened(tmp_path, [empty, anderson("a", Regional(0))])
    regions = regions_of(source, "nothing", "a")
    assert regions.counts.tolist() == [0, 3]
    assert regions.problems == ("a.tsv has no regions of it", None)
    assert source.dim == 8
    with pytest.raises(FeatureError, match="has no region of any picture"):
        opened(tmp_path, [empty])


def test_tsv_with_an_id_that_csv_has_quoted(tmp_path):
    import csv

    with (tmp_path / "a.tsv").open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerow(anderson('a "b".jpg', Regional(0)))
    assert regions_of(load_region_file(tmp_path / "a.tsv"), 'a "b".jpg').counts.tolist() == [3]


def test_tsv_lines_are_read_only_when_asked_for(tmp_path):
    rows = [anderson("a", Regional(0)), ["b", 200, 100, 3, "not base64!", "neither"]]
    source = opened(tmp_path, rows)
    assert regions_of(source, "a").counts.tolist() == [3]
    with pytest.raises(FeatureError, match=r"a.tsv, image b: boxes are not base64"):
        source.regions([image("b")])


def test_tsv_that_changes_meanwhile(tmp_path):
    source = opened(tmp_path, [anderson(name, Regional(0)) for name in "ab"])
    write_tsv(tmp_path / "a.tsv", [anderson(name, Regional(0, 4)) for name in "ab"])
    with pytest.raises(FeatureError, match="changed while it was read"):
        source.regions([image("b")])


def bad(**changes):
    """A line of Anderson's layout with some fields replaced."""
    fields = dict(zip(["id", "w", "h", "n", "boxes", "features"], anderson("a", Regional(0)), strict=True))
    return ["\t".join(map(str, (fields | changes).values()))]


INFINITE = ONE.features.copy()
INFINITE[1, 2] = np.inf
LARGE = ONE.features * 1e5
NAN_BOX = ONE.pixels.copy()
NAN_BOX[0, 0] = np.nan


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has no region of any picture"),
        (["", ""], "has no region of any picture"),
        (["a\t1\t2"], "line 1: has 3 columns, expected 6 or 7 or 10; is the file whole"),
        (["just text"], "line 1: has 1 columns"),
        ([*bad(), "b\t200\t100"], "line 2: has 3 columns, expected 6"),
        ([*bad(), *bad()], "line 2: image a is there twice"),
        (bad(id=""), "line 1: has no image id"),
        (
            ["image_id\timage_w\timage_h\tnum_boxes\tboxes\tfeatures"],
            "expected a number; remove the header line, if there is one",
        ),
        (bad(n="three"), "num_boxes is 'three', expected a number"),
        (bad(n=4), r"boxes are float32 of shape \(4, 3\)"),
        (bad(n=5), "boxes have 48 bytes, which are not those of 5 regions: cut off or damaged"),
        (bad(n=-3), "not those of -3 regions"),
        (bad(n="nan"), "not those of nan regions"),
        (bad(n="1e300"), "not those of 1e300 regions"),
        (bad(n=0), "not those of 0 regions"),
        (bad(w=0), "image_w is .*; one positive number is needed"),
        (bad(h="inf"), "image_h is .*; one positive number is needed"),
        (bad(boxes=b64(ONE.pixels)[:-3]), "boxes are not base64"),
        (bad(features=b64(ONE.features)[:-8]), "features have 90 bytes, which are not those of 3 regions"),
        (bad(features=b64(ONE.features).replace("A", "é", 1)), "features are not base64"),
        (bad(features=""), r"features are float32 of shape \(3, 0\)|no region"),
        (bad(boxes=b64(ONE.pixels[:, :3])), r"boxes are float32 of shape \(3, 3\)"),
        (bad(boxes=b64(NAN_BOX)), "boxes are not all finite"),
        (bad(boxes=b64(ONE.pixels[:, [2, 3, 0, 1]])), "a box ends before it begins"),
        (bad(features=b64(INFINITE)), "features are not all finite numbers up to 65,504"),
        (bad(features=b64(LARGE)), "features are not all finite numbers up to 65,504"),
    ],
)
def test_tsv_that_is_damaged(tmp_path, lines, message):
    (tmp_path / "a.tsv").write_text("".join(line + "\r\n" for line in lines), newline="")
    with pytest.raises(FeatureError, match=message) as error:
        load_region_file(tmp_path / "a.tsv")
    assert str(tmp_path / "a.tsv") in str(error.value)
    assert "\n" not in str(error.value)


def test_tsv_of_one_endless_line(tmp_path, monkeypatch):
    from iconotext.features import region_files as region_tsv

    monkeypatch.setattr(region_tsv, "LARGEST", 1 << 16)
    (tmp_path / "a.tsv").write_bytes(b"a" * (1 << 17))
    with pytest.raises(FeatureError, match="line 1: is longer than"):
        load_region_file(tmp_path / "a.tsv")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_tsv_of_anything_is_an_error_we_know(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "a.tsv"
    path.write_bytes(data)
    with pytest.raises(FeatureError):
        load_region_file(path)
