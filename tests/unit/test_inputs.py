"""Arguments of irc-run: drawn and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irc.runtime.artifact import DTYPES, ArraySpec
from irc.support.diagnostics import IrcError
from irc_tools.inputs import draw_array, load_array, make_arguments, parse_inputs, storable

Array = np.ndarray[Any, Any]


def _save(folder: Path, array: Array) -> Path:
    path = folder / "x.npy"
    np.save(path, array)
    return path


@pytest.mark.parametrize("element", DTYPES)
def test_drawn_arrays_follow_their_type(element: str) -> None:
    array = draw_array(ArraySpec("x", (1000,), element), 7, 0)
    assert array.dtype == DTYPES[element]
    wide = array.astype(np.float64)
    if element == "bool":
        assert 400 < wide.sum() < 600
    elif element[0] in "iu":
        assert set(wide) == set(range(10))
    else:
        assert abs(wide.mean()) < 0.15
        assert 0.9 < wide.std() < 1.1


def test_a_seed_gives_the_same_arrays_whatever_else_is_given(tmp_path: Path) -> None:
    specs = [ArraySpec("x", (3,), "f32"), ArraySpec("y", (3,), "f32")]
    drawn = make_arguments(specs, {}, 1)
    given = make_arguments(specs, {"x": _save(tmp_path, np.zeros(3, np.float32))}, 1)
    assert not given[0].any()
    np.testing.assert_array_equal(drawn[1], given[1])
    assert not np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], make_arguments(specs, {}, 2)[0])


def test_narrow_arguments_are_rounded_from_f32(tmp_path: Path) -> None:
    path = _save(tmp_path, np.array([1.0 + 2**-9, 1e9], np.float32))
    bf16 = load_array(ArraySpec("x", (2,), "bf16"), path)
    assert bf16.dtype == ml_dtypes.bfloat16
    assert float(bf16[0]) == 1.0
    f8 = load_array(ArraySpec("x", (2,), "f8e4m3"), path)
    assert float(f8[1]) == 448.0


def test_fortran_order_and_foreign_byte_order_are_read(tmp_path: Path) -> None:
    array = np.arange(6, dtype=">f4").reshape(2, 3, order="F")
    found = load_array(ArraySpec("x", (2, 3), "f32"), _save(tmp_path, array))
    assert found.dtype.isnative
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2), np.float32), r"expected f32\[3\], found float32\[2, 2\]"),
        (np.zeros(3, np.float64), r"expected f32\[3\], found float64\[3\]"),
        (np.zeros(3, np.int32), "found int32"),
        (np.array(["a", "b", "c"]), "found str"),
    ],
)
def test_wrong_files_are_diagnosed(tmp_path: Path, array: Array, message: str) -> None:
    with pytest.raises(IrcError, match=message):
        load_array(ArraySpec("x", (3,), "f32"), _save(tmp_path, array))


def test_unreadable_files_are_diagnosed(tmp_path: Path) -> None:
    spec = ArraySpec("x", (3,), "f32")
    with pytest.raises(IrcError, match="No such file"):
        load_array(spec, tmp_path / "absent.npy")
    for name, content in (("text.npy", b"hello"), ("empty.npy", b""), ("cut.npy", b"\x93NUMPY\x01\x00v\x00{'descr'")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(IrcError, match=r"not a \.npy file"):
            load_array(spec, tmp_path / name)
    np.savez(tmp_path / "many.npz", a=np.zeros(3), b=np.zeros(3))
    with pytest.raises(IrcError, match="of one array"):
        load_array(spec, tmp_path / "many.npz")
    np.save(tmp_path / "objects.npy", np.array([None, {}], dtype=object), allow_pickle=True)
    with pytest.raises(IrcError, match=r"not a \.npy file of numbers"):
        load_array(spec, tmp_path / "objects.npy")


def test_input_options() -> None:
    assert parse_inputs(["x=a.npy", "y=b=c.npy"]) == {"x": Path("a.npy"), "y": Path("b=c.npy")}
    for bad in (["x"], ["=a.npy"], ["x="], ["x=a", "x=b"]):
        with pytest.raises(IrcError, match="--input"):
            parse_inputs(bad)
    with pytest.raises(IrcError, match="no argument of that name"):
        make_arguments([ArraySpec("x", (1,), "f32")], {"z": Path("a.npy")}, 0)


def test_results_are_stored_as_numpy_can_read_them(tmp_path: Path) -> None:
    for element, dtype in DTYPES.items():
        stored = storable(np.ones(2, dtype))
        assert stored.dtype == (np.float32 if element in ("bf16", "f8e4m3", "f8e5m2") else dtype)
        path = _save(tmp_path, stored)
        np.testing.assert_array_equal(np.load(path, allow_pickle=False), stored)


def test_an_argument_that_does_not_fit_is_named() -> None:
    spec = ArraySpec("x", (1 << 20, 1 << 30), "f32")
    with pytest.raises(IrcError, match=r"argument x: f32\[1048576, 1073741824\] of \d+ bytes does not fit in memory"):
        make_arguments([spec], {}, 0)
