"""Weights that say what no weights say are refused at the first number that is wrong."""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.artefacts import arrays as arrays_of_files
from perfc.analyzers.artefacts import artefact
from perfc.analyzers.artefacts.arrays import packed, unpacked
from perfc.analyzers.artefacts.artefact import Artefact, WeightsError
from perfc.analyzers.artefacts.forest import LEAF_STEP, ROWS, Forest
from perfc_lab.data import weights as weights_
from perfc_lab.training.growing import joined

NAMES = ("a", "b")
TREES = {
    # a < 0.5 ? 10 : (b < 2 ? 20 : (a < 1.5 ? 30 : 40)), then a leaf of 5, then b < 3 ? 1 : 2
    "feature": np.array([0, -1, 1, -1, 0, -1, -1, -1, 1, -1, -1], np.int8),
    "cut": np.array([0, 0, 1, 1], np.uint16),
    "cuts": np.array([0.5, 1.5, 2.0, 3.0], np.float32),
    "cut_counts": np.array([2, 2], np.int32),
    "leaf": np.array([10, 20, 30, 40, 5, 1, 2], np.int32) * round(1 / LEAF_STEP),
    "sizes": np.array([7, 1, 3], np.int32),
}


def forest(base: float = 0.25, **other: np.ndarray) -> Forest:
    return Forest.from_arrays(NAMES, {**TREES, **other}, base)


ROWS_OF_TABLE = np.array(
    [[0.4, 9.0], [0.5, 1.9], [1.4, 2.0], [1.5, 2.0], [0.4, 2.9], [0.4, 3.0]], np.float32
)


def test_trees_are_walked_left_below_a_cut_and_right_at_it() -> None:
    sums = [10 + 5 + 2, 20 + 5 + 1, 30 + 5 + 1, 40 + 5 + 1, 10 + 5 + 1, 10 + 5 + 2]
    assert forest()(ROWS_OF_TABLE).tolist() == [s + 0.25 for s in sums]
    assert forest()(ROWS_OF_TABLE[:0]).tolist() == []


def test_more_rows_than_are_walked_at_a_time_keep_their_order() -> None:
    many = np.tile(ROWS_OF_TABLE, (ROWS, 1))
    assert np.array_equal(forest()(many), np.tile(forest()(ROWS_OF_TABLE), ROWS))


def test_the_first_trees_alone_and_two_forests_together() -> None:
    assert forest().first(1)(ROWS_OF_TABLE).tolist() == [10.25, 20.25, 30.25, 40.25, 10.25, 10.25]
    assert forest().first(2)(ROWS_OF_TABLE[:1]).tolist() == [15.25]
    assert forest().first(3)(ROWS_OF_TABLE[:1]).tolist() == [17.25]
    assert forest().first(9)(ROWS_OF_TABLE[:1]).tolist() == [17.25]
    both = joined(forest(), forest(base=0.5).first(2))
    assert both(ROWS_OF_TABLE[:2]).tolist() == [17.25 + 15.5, 26.25 + 25.5]
    assert both.first(3)(ROWS_OF_TABLE[:1]).tolist() == [17.25]
    assert both.base == 0.25


def test_what_is_written_is_what_was_read() -> None:
    again = forest().arrays()
    assert again.keys() == TREES.keys()
    for name, expected in TREES.items():
        assert again[name].tolist() == expected.tolist(), name
        assert again[name].dtype == expected.dtype, name


@pytest.mark.parametrize(("count", "dtype"), [(127, np.int8), (128, np.int16)])
def test_features_are_numbered_in_as_few_bytes_as_hold_them(count: int, dtype: type) -> None:
    names = tuple(f"f{i}" for i in range(count))
    leaf = Forest.from_arrays(
        names,
        {
            "feature": np.array([count - 1, -1, -1], np.int16),
            "cut": np.zeros(1, np.int64),
            "cuts": np.ones(1),
            "cut_counts": np.array([0] * (count - 1) + [1]),
            "leaf": np.array([3, 4]) * round(1 / LEAF_STEP),
            "sizes": np.array([3]),
        },
        0.0,
    )
    assert leaf.arrays()["feature"].dtype == dtype
    assert leaf(np.full((1, count), 1.0, np.float32)).tolist() == [4.0]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (32767 * LEAF_STEP, np.int16),
        (32768 * LEAF_STEP, np.int32),
        (-32768 * LEAF_STEP, np.int16),
        (-32769 * LEAF_STEP, np.int32),
    ],
)
def test_leaves_take_two_bytes_where_all_fit(value: float, dtype: type) -> None:
    read = forest(leaf=np.zeros(7, np.int16))
    written = replace(read, threshold=np.where(read.feature < 0, np.float32(value), 1.0)).arrays()
    assert written["leaf"].dtype == dtype
    assert (written["leaf"] * LEAF_STEP == value).all()


def changed(name: str, index: int, value: float) -> dict[str, np.ndarray]:
    found = TREES[name].copy()
    found[index] = value
    return {name: found}


@pytest.mark.parametrize(
    "wrong",
    [
        changed("feature", 0, 2),  # two features are 0 and 1
        changed("sizes", 0, 8),
        changed("sizes", 1, 0) | {"feature": np.delete(TREES["feature"], 7)},
        changed("sizes", 1, -1),
        {"sizes": np.zeros(0, np.int32)},
        {"sizes": np.array([6, 2, 3], np.int32)},
        {"sizes": np.array([7, 3, 1], np.int32)},
        {"sizes": TREES["sizes"].astype(np.float32)},
        {"sizes": TREES["sizes"][None]},
        {"feature": TREES["feature"].astype(np.float32)},
        {"feature": TREES["feature"][:, None]},
        {"feature": np.array([-1, 0, 1, -1, 0, -1, -1, -1, 1, -1, -1], np.int8)},
        {"cut": TREES["cut"].astype(np.float32)},
        {"cut": TREES["cut"][:-1]},
        {"cut": np.append(TREES["cut"], 0).astype(np.uint16)},
        {"cut": TREES["cut"][None]},
        changed("cut", 2, 2),  # two cuts are 0 and 1
        {"cut": np.array([0, 0, -1, 1], np.int16)},
        {"cuts": TREES["cuts"][:-1]},
        {"cuts": np.append(TREES["cuts"], 1).astype(np.float32)},
        {"cuts": TREES["cuts"][None]},
        changed("cuts", 3, np.inf),
        changed("cuts", 0, np.nan),
        {"leaf": TREES["leaf"].astype(np.float32)},
        {"leaf": TREES["leaf"][:-1]},
        {"leaf": np.append(TREES["leaf"], 0)},
        {"leaf": TREES["leaf"][None]},
        {"cut_counts": np.array([2, 2, 0], np.int32)},
        {"cut_counts": np.array([4], np.int32)},
        {"cut_counts": np.array([5, -1], np.int32)},
        {"cut_counts": np.array([2, 1], np.int32)},
        {"cut_counts": np.array([2, 3], np.int32)},
        {"cut_counts": TREES["cut_counts"].astype(np.float32)},
        {"cut_counts": TREES["cut_counts"][None]},
    ],
    ids=lambda wrong: " and ".join(
        f"{n}-{'x'.join(map(str, a.shape))}-{a.tolist()}" for n, a in wrong.items()
    )[:80],
)
def test_one_number_that_is_wrong_is_no_forest(wrong: dict[str, np.ndarray]) -> None:
    with pytest.raises(
        ValueError, match=r"^(arrays that are no forest|cuts of another|a cut that)"
    ):
        forest(**wrong)


def test_an_array_that_is_missing_is_named() -> None:
    for name in TREES:
        with pytest.raises(KeyError, match=name):
            Forest.from_arrays(NAMES, {n: a for n, a in TREES.items() if n != name}, 0.0)


# Files of arrays


def test_arrays_are_packed_and_read_back_by_their_names() -> None:
    given = {
        "a": np.array([[1.5, -2.0], [3.0, 4.0]]),
        "b": np.array([1, -1], np.int16),
        "c": np.zeros((0, 3), np.float32),
        "d": np.array([True, False]),
    }
    content = packed(given)
    found = unpacked(content)
    assert found.keys() == given.keys()
    for name, value in given.items():
        assert found[name].dtype == value.dtype
        assert found[name].tolist() == value.tolist()
    assert list(unpacked(content, lambda name: name == "b")) == ["b"]


def test_arrays_may_unpack_to_so_many_bytes_and_not_one_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = packed({"a": np.zeros(1000), "b": np.zeros(1000)})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        whole = sum(info.file_size for info in archive.infolist())
    assert whole > 16_000
    assert arrays_of_files.MAX_BYTES == 512 * 1024 * 1024
    monkeypatch.setattr(arrays_of_files, "MAX_BYTES", whole)
    assert set(unpacked(content)) == {"a", "b"}
    monkeypatch.setattr(arrays_of_files, "MAX_BYTES", whole - 1)
    with pytest.raises(ValueError, match=f"arrays end at {whole - 1} bytes"):
        unpacked(content)


def zipped(**members: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **members)  # type: ignore[arg-type]
    return buffer.getvalue()


@pytest.mark.parametrize(
    "member",
    [
        {"a:<f8": np.zeros((7, 2), np.uint8)},  # numbers of eight bytes
        {"a:<f8": np.zeros((8, 2), np.int8)},
        {"a:|O": np.zeros((8, 2), np.uint8)},
        {"a:<U1": np.zeros((4, 2), np.uint8)},
        {"a:<M8[s]": np.zeros((8, 2), np.uint8)},
        {"a:<f8": np.uint8(3)},
        {"a:what": np.zeros((8, 2), np.uint8)},
        {"a:<f8": np.array([object()], dtype=object)},
    ],
)
def test_bytes_that_are_no_numbers_are_refused(member: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpacked(zipped(**member))


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY", packed({"a": np.ones(9)})[:-9]])
def test_files_that_are_none_are_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        unpacked(content)


# Cards and the arrays they speak of


def rewritten(path: Path, **other: np.ndarray) -> Path:
    """A card whose arrays were replaced by someone who knew to mend the digest."""
    npz = path.with_suffix(".npz")
    old = npz.read_bytes()
    new = packed({**unpacked(old), **other})
    npz.write_bytes(new)
    digests = (hashlib.sha256(content).hexdigest() for content in (old, new))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(*digests), encoding="utf-8")
    return path


def test_arrays_that_were_replaced_whole_are_read(trained: Artefact, tmp_path: Path) -> None:
    """So that the refusals below are for what is wrong, and not for the replacing."""
    path = rewritten(weights_.save(trained, tmp_path), hull_low=trained.hull_low - 1)
    assert np.array_equal(artefact.load(path).hull_low, trained.hull_low - 1)


@pytest.mark.parametrize("name", ["hull_low", "hull_high", "middle"])
def test_a_hull_has_a_number_for_each_feature(trained: Artefact, tmp_path: Path, name: str) -> None:
    path = weights_.save(trained, tmp_path)
    count = len(trained.card.features)
    for wrong in (
        np.zeros(count + 1),
        np.zeros(count - 1),
        np.full(count, np.nan),
        np.inf + np.zeros(count),
    ):
        with pytest.raises(WeightsError, match="damaged weights: hull of another number"):
            artefact.load(rewritten(path, **{name: wrong}))
        rewritten(path, **{name: np.zeros(count)})
    artefact.load(path)


def test_cells_have_a_column_for_each_parameter(trained: Artefact, tmp_path: Path) -> None:
    path = weights_.save(trained, tmp_path)
    cells = trained.cells
    assert cells is not None
    rewritten(path, cells_log2=cells.log2[:, :-1])
    artefact.load(path)
    with pytest.raises(WeightsError, match="damaged weights: cells of another number"):
        artefact.load(path, cells=True)
    rewritten(path, cells_log2=cells.log2[:-1])
    with pytest.raises(WeightsError, match="damaged weights: cells of another number"):
        artefact.load(path, cells=True)


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_a_card_speaks_of_no_more_trees_than_there_are(
    trained: Artefact, tmp_path: Path, more: int, is_read: bool
) -> None:
    count = len(trained.factor.roots) + more
    path = weights_.save(replace(trained, card=replace(trained.card, general=count)), tmp_path)
    if is_read:
        assert artefact.load(path).card.general == count
        return
    with pytest.raises(WeightsError, match="speaks of more trees than there are"):
        artefact.load(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"general = {count}", "general = -1"), encoding="utf-8")
    with pytest.raises(WeightsError, match="speaks of more trees than there are"):
        artefact.load(path)


def test_a_card_of_another_format_is_not_read(trained: Artefact, tmp_path: Path) -> None:
    path = weights_.save(trained, tmp_path)
    text = path.read_text(encoding="utf-8")
    assert f'"format": {artefact.FORMAT},' in text
    for number in (artefact.FORMAT - 1, artefact.FORMAT + 1):
        path.write_text(text.replace(f'"format": {artefact.FORMAT},', f'"format": {number},'))
        with pytest.raises(WeightsError, match="this version reads"):
            artefact.load(path)


def test_arrays_of_other_weights_are_not_those_of_the_card(
    trained: Artefact, tmp_path: Path
) -> None:
    path = weights_.save(trained, tmp_path / "one")
    other = weights_.save(replace(trained, hull_low=trained.hull_low - 1), tmp_path / "other")
    path.with_suffix(".npz").write_bytes(other.with_suffix(".npz").read_bytes())
    with pytest.raises(WeightsError, match="not the arrays that the card speaks of"):
        artefact.load(path)


def test_files_may_be_so_long_and_not_one_byte_longer(
    trained: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = weights_.save(trained, tmp_path)
    for name, file in (("MAX_CARD_BYTES", path), ("MAX_ARRAYS_BYTES", path.with_suffix(".npz"))):
        size = file.stat().st_size
        with monkeypatch.context() as patch:
            patch.setattr(artefact, name, size)
            artefact.load(path)
            patch.setattr(artefact, name, size - 1)
            with pytest.raises(WeightsError, match=f"such files end at {size - 1} bytes"):
                artefact.load(path)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot read: No such file") as caught:
        artefact.load(tmp_path / "none.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("calibration levels", [0.5, 0.9]),
        ("calibration levels", [0.0, 0.9]),
        ("calibration levels", [0.1, 0.5]),
        ("calibration levels", [0.1, 1.0]),
        ("calibration unseen", [-0.1, -1.0, 1.0]),
        ("calibration unseen", [math.inf, -1.0, 1.0]),
        ("calibration unseen", [0.1, 1.0, -1.0]),
        ("calibration unseen", [0.1, math.nan, 1.0]),
        ("calibration unseen", [0.1, 1.0]),
        ("rows", "many"),
        ("protocols", ["sundial"]),
        ("kin", [[1]]),
    ],
)
def test_a_card_that_says_what_no_card_says_is_refused(
    trained: Artefact, tmp_path: Path, key: str, value: object
) -> None:
    path = weights_.save(trained, tmp_path)
    card = json.loads(path.read_text(encoding="utf-8"))
    artefact.load(path)
    *outer, inner = key.split()
    table = card[outer[0]] if outer else card
    assert inner in table
    table[inner] = value
    path.write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(WeightsError, match="no model card: ") as caught:
        artefact.load(path)
    assert "\n" not in str(caught.value)
