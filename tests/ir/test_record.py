"""Records are what dataclasses with the same fields are."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, dataclass, field, replace

from perfc.ir.record import record


@record
class Point:
    x: int
    y: float = 0.5
    note: str = field(default="", repr=False, compare=False)


@record
class Other:
    x: int
    y: float = 0.5


@record
class Nothing:
    pass


@dataclass(frozen=True)
class Peer:
    x: int
    y: float = 0.5


def test_equality_and_hash_are_those_of_compared_fields() -> None:
    assert Point(1) == Point(1, note="seen") != Point(2)
    assert Point(1) != Other(1)
    assert hash(Point(1)) == hash(Point(1, note="seen")) == hash(Peer(1))
    assert len({Point(1), Point(1, 0.5, "a"), Point(1, 0.25)}) == 2
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(())


def test_text_is_that_of_a_dataclass() -> None:
    assert repr(Point(1, 2.0, "hidden")) == repr(Peer(1, 2.0)).replace("Peer", "Point")
    assert repr(Nothing()) == "Nothing()"


def test_what_takes_dataclasses_takes_records() -> None:
    point = Point(3, 4.0, "kept")
    assert replace(point, x=5) == Point(5, 4.0)
    assert asdict(point) == {"x": 3, "y": 4.0, "note": "kept"}
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point
    assert not hasattr(point, "__dict__")


def test_methods_of_a_class_are_kept() -> None:
    @record
    class Named:
        name: str

        def __repr__(self) -> str:
            return f"<{self.name}>"

    assert repr(Named("a")) == "<a>"
    assert Named("a") == Named("a")
