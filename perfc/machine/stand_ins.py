"""Element types whose rates stand in for those of types that a unit does not have."""

from __future__ import annotations

SAME_MATRIX = {
    "u8": "i8",
    "u4": "i4",
    "i2": "i4",
    "u2": "i4",
    "f8e4m3fn": "f8e4m3",
    "f8e4m3fnuz": "f8e4m3",
    "f8e5m2fnuz": "f8e5m2",
    "f8e8m0": "f8e4m3",
    "c64": "f32",
    "c128": "f64",
}
"""Types that matrix units treat as another of the same width."""
MATRIX_CHAIN: dict[str, tuple[str, ...]] = {
    "f64": ("f64",),
    "f32": ("f32", "tf32"),
    "tf32": ("tf32", "f32"),
    "f16": ("f16", "tf32"),
    "bf16": ("bf16", "tf32"),
    "f8e4m3": ("f8e4m3", "f16", "bf16"),
    "f8e5m2": ("f8e5m2", "f16", "bf16"),
    "f4e2m1": ("f4e2m1", "f8e4m3", "i8", "f16", "bf16"),
    "i8": ("i8", "f16", "bf16"),
    "i4": ("i4", "i8", "f8e4m3", "f16", "bf16"),
}
"""Types whose matrix rates may do products of a type: its own first, then what holds its values."""
VECTOR_CHAIN: dict[str, tuple[tuple[str, int], ...]] = {
    "f64": (("f64", 1),),
    "f32": (("f32", 1),),
    "tf32": (("f32", 1),),
    "f16": (("f16", 1), ("f32", 1)),
    "bf16": (("bf16", 1), ("f32", 1)),
    "f8e4m3": (("f16", 1), ("bf16", 1), ("f32", 1), ("i32", 4)),
    "f8e5m2": (("f16", 1), ("bf16", 1), ("f32", 1), ("i32", 4)),
    "f4e2m1": (("f16", 1), ("bf16", 1), ("f32", 1), ("i32", 8)),
    "i64": (("i32", 1),),
    "u64": (("i32", 1),),
    "i32": (("i32", 1),),
    "u32": (("i32", 1),),
    "i16": (("i32", 2),),
    "u16": (("i32", 2),),
    "i8": (("i8", 1), ("i32", 4)),
    "b1": (("i8", 1), ("i32", 4)),
    "i4": (("i8", 2), ("i32", 8)),
}
"""Types whose vector rates may do operations of a type, and how many fit into one lane of it."""
