"""Records are what dataclasses with the same fields are."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import ClassVar

import pytest

from perfc.ir.record import entity, frozen, mutable, record


@record
class Point:
    x: int
    y: float = 0.5
    note: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class PeerPoint:
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


@mutable
class Walk:
    start: int
    seen: list[int] = field(default_factory=list)
    steps: int = field(default=2, init=False)
    ends: list[int] = field(default_factory=list, init=False)
    last: int = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.start + self.steps


@dataclass
class WalkPeer:
    start: int
    seen: list[int] = field(default_factory=list)
    steps: int = field(default=2, init=False)
    ends: list[int] = field(default_factory=list, init=False)
    last: int = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.start + self.steps


def test_objects_are_made_as_those_of_a_dataclass() -> None:
    walks, peer = (Walk(1), Walk(2, [5]), Walk(start=3, seen=[])), WalkPeer(1)
    assert asdict(walks[0]) == asdict(peer)
    assert [(w.last, w.seen) for w in walks] == [(3, []), (4, [5]), (5, [])]
    assert walks[0].ends is not walks[1].ends
    assert walks[0] == Walk(1) != walks[1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(walks[0])
    assert (
        inspect.signature(Walk).parameters.keys() == inspect.signature(WalkPeer).parameters.keys()
    )
    assert Walk.__init__.__annotations__["start"] == "int"


@pytest.mark.parametrize("count", range(12))
def test_objects_of_any_number_of_fields_keep_each_in_its_place(count: int) -> None:
    """Code that was compiled for one class serves others of as many fields."""
    for prefix in ("a", "b"):
        names = [f"{prefix}{i}" for i in range(count)]
        defaults = {name: i for i, name in enumerate(names) if 2 * i >= count}
        made = type("Made", (), {"__annotations__": dict.fromkeys(names, "int"), **defaults})
        kind = record(made)
        given = [10 + i for i in range(count - len(defaults))]
        found = kind(*given)
        expected = given + list(defaults.values())
        assert [getattr(found, name) for name in names] == expected
        assert kind(**dict(zip(names, expected, strict=True))) == found
        assert list(inspect.signature(kind).parameters) == names
        with pytest.raises(TypeError, match="positional argument"):
            kind(*range(count + 1))


def test_what_does_not_fit_is_refused_as_by_a_dataclass() -> None:
    with pytest.raises(TypeError, match=r"Peer.__init__\(\) missing 1 required .*'x'") as of_peer:
        Peer()  # type: ignore[call-arg]
    with pytest.raises(TypeError) as of_point:
        Point()  # type: ignore[call-arg]
    assert str(of_point.value) == str(of_peer.value).replace("Peer", "Point")
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_classes_inherit_fields_and_state_their_own_methods() -> None:
    @frozen
    class Base:
        a: int
        b: int = 2

    @frozen
    class Derived(Base):
        c: int = 3

    class Undecorated(Derived):
        pass

    @entity
    class Stated:
        a: int

        def __init__(self) -> None:
            self.a = 7

    assert asdict(Derived(1)) == {"a": 1, "b": 2, "c": 3}
    assert (Base(1, 4).b, Undecorated(1, c=5).c, Stated().a) == (4, 5, 7)
    assert type(Undecorated(1)) is Undecorated


@frozen
class Base:
    kind: ClassVar[str] = "base"
    x: int
    y: float = 0.5


@record
class Derived(Base):
    names: list[str] = field(default_factory=list)
    y: float = 1.5


@dataclass(frozen=True)
class PeerBase:
    kind: ClassVar[str] = "base"
    x: int
    y: float = 0.5


@dataclass(frozen=True, slots=True)
class PeerDerived(PeerBase):
    names: list[str] = field(default_factory=list)
    y: float = 1.5


def test_fields_are_noted_as_dataclasses_note_them() -> None:
    def noted(cls: type) -> list[tuple[object, ...]]:
        return [
            (f.name, f.type, f.default, f.default_factory, f.init, f.repr, f.compare, f.kw_only)
            for f in fields(cls)
        ]

    for ours, theirs in ((Base, PeerBase), (Derived, PeerDerived), (Point, PeerPoint)):
        assert is_dataclass(ours)
        assert noted(ours) == noted(theirs)
        assert ours.__match_args__ == theirs.__match_args__  # type: ignore[attr-defined]
    assert vars(Derived)["__slots__"] == vars(PeerDerived)["__slots__"]
    assert replace(Derived(1), x=2) == Derived(2, 1.5, [])
    assert asdict(Derived(1, names=["a"])) == asdict(PeerDerived(1, names=["a"]))

    @dataclass
    class Further(Base):
        z: int = 0

    assert asdict(Further(1)) == {"x": 1, "y": 0.5, "z": 0}


def test_a_default_that_all_would_share_is_refused() -> None:
    with pytest.raises(ValueError, match="names: all objects would share"):

        @record
        class Shared:
            names: list[str] = []  # noqa: RUF012
