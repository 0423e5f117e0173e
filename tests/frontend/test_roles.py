"""What symbols stand for by their place and name, and what follows what: tables read by hand."""

from __future__ import annotations

import pytest

from perfc.frontend.lowering.roles import TYPICAL, Roles, SymbolPlace, by_place, is_numbered
from perfc.frontend.lowering.symbols import SymbolTable
from perfc.frontend.reading.proto import TypeKind, TypeProto
from perfc.ir.graph import Basis, SymbolDecl
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.tensors.types import DType

ONNX = {"f32": 1, "u8": 2, "i64": 7}


def place(value: str, dtype: str, extents: str, axis: int) -> SymbolPlace:
    """An axis of an input whose extents are numbers, or ``*`` for symbols."""
    parts = extents.split(",")
    shape: tuple[Dim, ...] = tuple(
        symbol(f"s{i}") if p == "*" else int(p) for i, p in enumerate(parts)
    )
    (kind,) = (t for t in DType if t.code == dtype)
    return SymbolPlace(value, axis, shape, kind)


@pytest.mark.parametrize(
    ("value", "dtype", "extents", "bases"),
    [
        ("x", "f32", "*,*", "batch nothing"),
        ("ids", "i64", "*,*", "batch sequence"),
        ("x", "f32", "*,*,8", "batch sequence -"),
        ("x", "f32", "*,8,*", "batch - sequence"),
        ("x", "i64", "*,*,*", "batch nothing nothing"),
        ("x", "f32", "*,3,*,*", "batch - image image"),
        ("x", "f32", "*,1,*,*", "batch - image image"),
        ("x", "f32", "*,1,*,8", "batch - sequence -"),
        ("x", "f32", "*,1,8,*", "batch - - sequence"),
        ("x", "f32", "*,3,8,*", "batch - - image"),
        ("x", "f32", "*,4,*,*", "batch - latent latent"),
        ("x", "f32", "*,*,*,*", "batch nothing image image"),
        ("x", "f32", "*,4,*,8", "batch - cache -"),
        ("x", "f32", "*,*,*,3", "batch image image -"),
        ("x", "u8", "*,*,*,1", "batch image image -"),
        ("x", "i32", "*,3,*,*", "batch - nothing nothing"),
        ("x", "f32", "3,*,*", "- image image"),
        ("x", "u8", "*,*,3", "image image -"),
        ("x", "f32", "*,*,3", "batch sequence -"),
        ("x", "f32", "3,*,8", "- sequence -"),
        ("x", "f32", "*,3,8,*,*", "batch - - image image"),
        ("x", "f32", "*,8,3,*,*", "batch - - image image"),
        ("x", "f32", "*,8,8,*,*", "batch - - nothing nothing"),
        ("past.k", "f32", "*,8,*,64", "batch - cache -"),
        ("past.k", "f32", "*,*,8,64", "batch cache - -"),
        ("past.k", "f32", "*,*,64", "batch cache -"),
        ("past.k", "f32", "2,*,8,*,64", "- nothing - cache -"),
        ("past.k", "f32", "*,3,*,64", "batch - cache -"),
        ("x", "f32", "*,8,*,64", "batch - cache -"),
        ("x", "f32", "*,3,*,64", "batch - image -"),
        ("past.k", "i64", "*,8,*,64", "batch - nothing -"),
        ("kv", "f32", "*,*,*,64", "batch nothing cache -"),
        ("x.kv", "f32", "*,*,*,64", "batch nothing cache -"),
        ("audio", "f32", "*,*", "batch sound"),
        ("audio", "f32", "*,2,*", "batch - sound"),
        ("audio", "f32", "*,1,*", "batch - sound"),
        ("x", "f32", "*,1,*", "batch - sound"),
        ("x", "f32", "*,2,*", "batch - sequence"),
        ("audio", "i16", "*,*", "batch sequence"),
        ("mask", "f32", "*,*", "batch sequence"),
        ("mask", "i64", "*,*", "batch sequence"),
        ("mask", "f32", "*,1,*,*", "batch - image image"),
        ("x", "f32", "*", "nothing"),
        ("x", "i64", "*", "nothing"),
    ],
)
def test_an_axis_whose_name_says_nothing_is_told_by_its_place(
    value: str, dtype: str, extents: str, bases: str
) -> None:
    found = [
        by_place(place(value, dtype, extents, i)).name.lower() if extent == "*" else "-"
        for i, extent in enumerate(extents.split(","))
    ]
    assert " ".join(found) == bases


@pytest.mark.parametrize(
    ("name", "is_counted"),
    [
        ("s72", True),
        ("unk__5", True),
        ("dim_3", True),
        ("dim3", True),
        ("d0", True),
        ("s", False),
        ("seq1", False),
        ("x_d0", True),
        ("x_dynamic_axes_1", True),
        ("y_d0", False),
    ],
)
def test_names_that_were_made_up_by_counting(name: str, is_counted: bool) -> None:
    assert is_numbered(name, place("X", "f32", "*,*", 0)) is is_counted
    if "_d" in name:
        assert not is_numbered(name, None)


@pytest.mark.parametrize(
    ("name", "basis"),
    [
        ("batch_size", Basis.BATCH),
        ("N", Basis.BATCH),
        ("bs", Basis.BATCH),
        ("b", Basis.BATCH),
        ("past_len", Basis.CACHE),
        ("kv_cache", Basis.CACHE),
        ("seq", Basis.SEQUENCE),
        ("num_tokens", Basis.SEQUENCE),
        ("t", Basis.SEQUENCE),
        ("L", Basis.SEQUENCE),
        ("height", Basis.IMAGE),
        ("img_w", Basis.IMAGE),
        ("w", Basis.IMAGE),
        ("samples", Basis.NOTHING),
        ("whatever", Basis.NOTHING),
        ("bn", Basis.NOTHING),
    ],
)
def test_a_name_that_says_something_is_believed(name: str, basis: Basis) -> None:
    assert Roles({}, {name: SymbolDecl(name, 1)}).basis(name) is basis
    assert Roles({}, {name: SymbolDecl(name, 1)}).assumed(name).size == TYPICAL[basis]


def defaults(*inputs: tuple[str, str, tuple[object, ...]]) -> dict[str, tuple[int, str]]:
    """Sizes that are assumed for the symbols of inputs, and what they follow."""
    table = SymbolTable()
    for name, dtype, extents in inputs:
        shape = tuple(extents)
        table.type(TypeProto(TypeKind.TENSOR, ONNX[dtype], shape), name)  # type: ignore[arg-type]
    return {d.name: (d.default, str(d.tie or "")) for d in table.declarations()}


def test_companions_of_tokens_are_as_long_as_they() -> None:
    found = defaults(
        ("input_ids", "i64", ("s0", "s1")),
        ("token_type_ids", "i64", ("s2", "s3")),
        ("attention_mask", "i64", ("s4", "s5")),
    )
    assert found == {
        "s0": (1, ""),
        "s1": (128, ""),
        "s2": (1, "s0"),
        "s3": (128, "s1"),
        "s4": (1, "s0"),
        "s5": (128, "s1"),
    }


def test_a_mask_covers_cache_and_tokens() -> None:
    found = defaults(
        ("input_ids", "i64", ("batch", "seq")),
        ("past.0.k", "f32", ("batch", 8, "past", 64)),
        ("past.1.k", "f32", ("s7", 8, "s8", 64)),
        ("attention_mask", "i64", ("batch", "total_seq")),
    )
    assert found == {
        "batch": (1, ""),
        "seq": (128, ""),
        "past": (128, ""),
        "s7": (1, "batch"),
        "s8": (128, "past"),
        "total_seq": (256, "past + seq"),
    }


def test_another_sequence_follows_none_of_the_tokens() -> None:
    found = defaults(
        ("input_ids", "i64", ("s0", "s1")),
        ("encoder_mask", "i64", ("s2", "s3")),
        ("cross.past.k", "f32", ("s4", 8, "s5", 64)),
        ("past.k", "f32", ("s6", 8, "s7", 64)),
        ("past.v", "f32", ("s8", 8, "s9", 64)),
    )
    assert found["s3"] == (128, "")
    assert found["s5"] == (128, "")
    assert (found["s7"], found["s9"]) == ((128, ""), (128, "s7"))
    assert {found[k][1] for k in ("s2", "s4", "s6", "s8")} == {"s0"}


def test_a_latent_image_is_no_picture_though_it_is_called_so() -> None:
    found = defaults(("sample", "f32", ("b", 4, "height", "width")))
    assert (found["height"], found["width"]) == ((64, ""), (64, ""))
    found = defaults(("sample", "f32", ("b", 3, "height", "width")))
    assert (found["height"], found["width"]) == ((224, ""), (224, ""))


def test_a_mask_says_less_than_what_it_masks() -> None:
    roles = Roles(
        {"n": [place("mask", "i64", "*,*", 1), place("ids", "i64", "*,*", 1)]},
        {"n": SymbolDecl("n", 1)},
    )
    chosen = roles.place("n")
    assert chosen is not None
    assert chosen.value == "ids"
    assert roles.place("m") is None
    assert (
        Roles({}, {"total_seq": SymbolDecl("total_seq", 1)}).tie("total_seq", Basis.SEQUENCE)
        is None
    )
