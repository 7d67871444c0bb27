"""HDF5 files of regions, in the layouts of the bottom-up VQA programs and with a group a picture."""

import json

import h5py
import numpy as np
import pytest

from iconotext.errors import FeatureError
from iconotext.features.regions.files import load_region_file
from tests.features.regions.detected import ONE, Regional, check, image, plain, three, write_fixed, write_names


@pytest.fixture
def found():
    return three()


def write_adaptive(path, found, **more):
    """As many regions as there are, as BAN."""
    ends = np.cumsum([one.count for one in found.values()])
    with h5py.File(path, "w") as file:
        file["image_features"] = np.concatenate([one.features for one in found.values()])
        file["image_bb"] = np.concatenate([one.pixels for one in found.values()])
        shares = np.concatenate([one.shares for one in found.values()])
        file["spatial_features"] = np.concatenate([shares, shares[:, 2:] - shares[:, :2]], axis=1)
        file["pos_boxes"] = np.stack([ends - [one.count for one in found.values()], ends], axis=1).astype(np.int32)
        for name, values in more.items():
            file[name] = values
    return path


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("suffix", ["hdf5", "h5"])
def test_hdf5_of_fixed_counts_with_ids_beside_it(tmp_path, suffix, listed):
    found = {str(i): Regional(i) for i in (70, 5, 9)}
    path = write_fixed(tmp_path / f"train36.{suffix}", found)
    ids = list(found) if listed else {name: row for row, name in enumerate(found)}
    (tmp_path / "train36.ids.json").write_text(json.dumps(ids))
    check(load_region_file(path), found, named=False, sure=False)


def test_hdf5_of_adaptive_counts_with_ids_in_it(tmp_path, found):
    objects = np.concatenate([one.objects for one in found.values()])
    sure = np.concatenate([one.sure for one in found.values()])
    path = write_adaptive(tmp_path / "train.hdf5", found, ids=list(found), objects_id=objects, objects_conf=sure)
    write_names(tmp_path)
    check(load_region_file(path), found, named=True)


def test_hdf5_with_numbers_as_ids_and_sizes_of_the_pictures(tmp_path):
    found = {"70": Regional(0), "5": Regional(1), "9": Regional(2)}
    more = {"image_id": [70, 5, 9], "image_w": [200] * 3, "image_h": [100] * 3}
    path = write_fixed(tmp_path / "a.h5", found, spatial=False, **more)
    check(load_region_file(path), found, named=False, sure=False)


def test_hdf5_with_a_group_for_each_picture(tmp_path, found):
    found = {name.replace("/", "-"): one for name, one in found.items()}
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["about"] = "made by nobody"
        for name, one in found.items():
            for key, value in plain(name, one).items():
                file[f"{name}/{key}"] = value
            file[f"{name}/comment"] = "text"
    write_names(tmp_path, "a.concepts.txt")
    check(load_region_file(tmp_path / "a.h5"), found, named=True)


def broken_hdf5(folder):
    """Files that cannot be used, and what is said of them."""
    found = {"a": Regional(0), "b": Regional(1)}
    ids = {"ids": ["a", "b"]}

    def changed(name, change, write=write_adaptive, **more):
        path = write(folder / f"{name}.h5", found, **(ids | more))
        with h5py.File(path, "a") as file:
            change(file)
        return path

    def replace(name, value):
        def change(file):
            del file[name]
            file[name] = value

        return change

    def elsewhere(file):
        del file["spatial_features"]
        file["spatial_features"] = h5py.ExternalLink(str(folder / "other.h5"), "/secret")

    def raw(file):
        del file["spatial_features"]
        outside = [(str(folder / "passwd"), 0, 96)]
        file.create_dataset("spatial_features", (6, 4), "<f4", external=outside)

    with h5py.File(folder / "other.h5", "w") as file:
        file["secret"] = np.zeros((6, 4), np.float32)
    (folder / "passwd").write_bytes(bytes(96))
    (folder / "text.h5").write_text("no HDF5")
    (folder / "empty.h5").write_bytes(b"")
    with h5py.File(folder / "nothing.h5", "w"):
        pass
    with h5py.File(folder / "odd.h5", "w") as file:
        file["something"] = [1]
    yield folder / "text.h5", "not an HDF5 file that can be read"
    yield folder / "empty.h5", "not an HDF5 file that can be read"
    yield folder / "nothing.h5", "has neither features nor x nor image_features"
    yield folder / "odd.h5", "nor a group for each picture"
    yield write_fixed(folder / "noids.h5", found), r"write noids.ids.json beside it"
    yield changed("twice", replace("ids", ["a", "a"])), "image a is there twice"
    yield changed("more", replace("ids", ["a", "b", "c"])), "has 2 pictures, but 3 ids"
    yield changed("flat", lambda file: file.__delitem__("pos_boxes")), "pos_boxes beside it should say"
    yield changed("beyond", replace("pos_boxes", [[0, 3], [3, 9]])), "are to end at 9, but .* has 6"
    yield changed("back", replace("pos_boxes", [[3, 0], [3, 6]])), "pos_boxes must be where"
    yield changed("minus", replace("pos_boxes", [[-3, 0], [3, 6]])), "pos_boxes must be where"
    yield changed("floats", replace("pos_boxes", [[0.0, 3.0], [3.0, 6.0]])), "pos_boxes must be where"
    yield changed("short", replace("spatial_features", np.zeros((4, 6), np.float32))), "are to end at 6"
    yield changed("texts", replace("image_features", [["x"] * 8] * 6)), "has no features"
    yield changed("nan", replace("image_features", np.full((6, 8), np.nan, np.float32))), "not all finite"
    yield changed("link", elsewhere), "lies in another file"
    yield changed("raw", raw), "lies in another file"
    yield changed("pixels", lambda file: file.__delitem__("spatial_features")), "boxes are in pixels"
    yield changed("ids", replace("ids", [1.5, 2.5])), "ids must be texts or whole numbers"
    yield changed("large", replace("image_features", h5py.Empty("<f4"))), "image_features"


def test_hdf5_that_cannot_be_used(tmp_path):
    for path, message in broken_hdf5(tmp_path):
        with pytest.raises(FeatureError, match=message) as error:
            load_region_file(path).regions([image("a"), image("b")])
        assert path.name in str(error.value)
        assert "\n" not in str(error.value)


def test_hdf5_that_claims_a_terabyte(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("image_features", (1, 1 << 20, 1 << 20), "<f4", chunks=(1, 64, 64))  # nothing written
        file["image_bb"], file["ids"] = np.zeros((1, 4, 4), np.float32), ["a"]
    assert (tmp_path / "a.h5").stat().st_size < 1 << 20
    with pytest.raises(FeatureError, match="larger than 256 MB"):
        load_region_file(tmp_path / "a.h5")


@pytest.mark.parametrize(
    "text", ["", "3", "[1, 1]", '{"a": 1.5}', '{"a": true}', '{"a": -1}', '{"a": 7}', '[{"a": 0}]']
)
def test_hdf5_with_damaged_ids_beside_it(tmp_path, text):
    write_fixed(tmp_path / "a.h5", {"a": ONE})
    (tmp_path / "a.ids.json").write_text(text)
    with pytest.raises(FeatureError, match=r"a\.(ids\.json|h5): "):
        load_region_file(tmp_path / "a.h5")
