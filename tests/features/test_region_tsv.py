"""Tab-separated files of regions, in the layouts of Anderson 2018, ViLBERT and LXMERT."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import FeatureError
from iconotext.features.region_files import is_region_file, load_region_file
from tests.support.detected_regions import (
    IDS,
    ONE,
    Regional,
    anderson,
    b64,
    check,
    image,
    joined,
    lxmert,
    three,
    vilbert,
    write_names,
    write_tsv,
)


@pytest.fixture
def found():
    return three()


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_tsv_of_anderson_knows_no_objects(tmp_path, found, end):
    path = write_tsv(tmp_path / "trainval.tsv", [anderson(*one) for one in found.items()], end)
    check(load_region_file(path), found, named=False, sure=False)


def test_tsv_with_features_of_2048_numbers(tmp_path):
    found = {str(i): Regional(i, 36, 2048) for i in range(2)}
    path = write_tsv(tmp_path / "trainval_36.tsv", [anderson(*one) for one in found.items()])
    check(load_region_file(path), found, named=False, sure=False)


@pytest.mark.parametrize("named", [True, False])
def test_tsv_of_lxmert_has_objects(tmp_path, found, named):
    path = write_tsv(tmp_path / "val2014_obj36.tsv", [lxmert(*one) for one in found.items()])
    if named:
        write_names(tmp_path)
    check(load_region_file(path), found, named=named)  # how sure the detector was counts without names too


def test_tsv_of_vilbert_has_probabilities_with_the_background_first(tmp_path, found):
    path = write_tsv(tmp_path / "cc.tsv", [vilbert(*one) for one in found.items()])
    write_names(tmp_path)
    check(load_region_file(path), found, named=True)


def test_tsv_in_parts(tmp_path, found):
    for number, one in enumerate(found.items()):
        write_tsv(tmp_path / f"train.tsv.{number}", [lxmert(*one)])
    (tmp_path / "readme.md").write_text("x")
    write_names(tmp_path)
    assert is_region_file(tmp_path)
    check(load_region_file(tmp_path), found, named=True)
    assert joined(load_region_file(tmp_path / "train.tsv.1").regions([image(IDS[1])])).counts.tolist() == [5]
    write_tsv(tmp_path / "more.tsv", [lxmert(*one) for one in list(found.items())[:1]])
    with pytest.raises(FeatureError, match=r"image 7 is in more.tsv too"):
        load_region_file(tmp_path)


def test_tsv_with_boxes_that_are_shares_already(tmp_path, found):
    rows = [[name, 200, 100, one.count, b64(one.shares), b64(one.features)] for name, one in found.items()]
    check(load_region_file(write_tsv(tmp_path / "a.tsv", rows)), found, named=False, sure=False)


def test_tsv_of_a_picture_without_regions(tmp_path):
    one = Regional(0)
    empty = ["nothing", 200, 100, 0, "", ""]
    source = load_region_file(write_tsv(tmp_path / "a.tsv", [empty, anderson("a", one)]))
    regions = joined(source.regions([image("nothing"), image("a")]))
    assert regions.counts.tolist() == [0, 3]
    assert regions.problems == ("a.tsv has no regions of it", None)
    assert source.dim == 8
    with pytest.raises(FeatureError, match="has no region of any picture"):
        load_region_file(write_tsv(tmp_path / "b.tsv", [empty]))


def test_tsv_with_an_id_that_csv_has_quoted(tmp_path):
    import csv

    with (tmp_path / "a.tsv").open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerow(anderson('a "b".jpg', Regional(0)))
    assert joined(load_region_file(tmp_path / "a.tsv").regions([image('a "b".jpg')])).counts.tolist() == [3]


def test_tsv_lines_are_read_only_when_asked_for(tmp_path):
    rows = [anderson("a", Regional(0)), ["b", 200, 100, 3, "not base64!", "neither"]]
    source = load_region_file(write_tsv(tmp_path / "a.tsv", rows))
    assert joined(source.regions([image("a")])).counts.tolist() == [3]
    with pytest.raises(FeatureError, match=r"a.tsv, image b: boxes are not base64"):
        source.regions([image("b")])


def test_tsv_that_changes_meanwhile(tmp_path):
    path = write_tsv(tmp_path / "a.tsv", [anderson(name, Regional(0)) for name in "ab"])
    source = load_region_file(path)
    write_tsv(path, [anderson(name, Regional(0, 4)) for name in "ab"])
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
