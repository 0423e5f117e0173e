"""Fast dataclasses for small objects, frozen only for type checkers.

Nothing prevents an assignment at run time: a dataclass that is frozen at run time takes five times
as long to construct, which was a tenth of the time from a model file to its kernels.

The definition of a class compiles no source, which was a tenth of the time of a whole process:
equality, hash and repr are closures, and ``__init__`` is generated for the first object. Fields are
collected here as well, from annotations as strings, which must be spelled ``ClassVar``:
`dataclasses` looks up each three times, which was 2 % of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Return a dataclass with slots whose equality and hash are those of its fields."""
    return _compared(_declared(cls, slots=True), vars(cls))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Return a `record` without slots, for classes with subclasses, such as operators."""
    return _compared(_declared(cls, slots=False), vars(cls))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def entity(cls: type[T]) -> type[T]:
    """Return a dataclass with slots whose equality is identity."""
    return _declared(cls, slots=True)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def cached_entity(cls: type[T]) -> type[T]:
    """Return an `entity` without slots, for objects that cache results in attributes."""
    return _declared(cls, slots=False)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Return a dataclass with slots and mutable fields, compared by fields and not hashable."""
    declared = _compared(_declared(cls, slots=True), vars(cls))
    setattr(declared, "__hash__", None)  # noqa: B010 - type checkers know it as a method
    return declared


@dataclass(init=False, eq=False, repr=False)
class _Model:
    """Attributes that `dataclasses` sets on a class, to be copied."""

    field: None


_PARAMS = vars(_Model)["__dataclass_params__"]
"""Value of ``__dataclass_params__``, which `dataclasses.is_dataclass` and others expect."""
_IS_FIELD = vars(_Model)["__dataclass_fields__"]["field"]._field_type
"""Mark of a field in ``__dataclass_fields__``, unlike class variables."""


def _declared(cls: type[T], *, slots: bool) -> type[T]:
    """Return the class as a dataclass, with a repr and an ``__init__`` generated when needed."""
    declared, by_name = cls, _fields_of(cls)
    # slots cannot be added to a class: it is created again, without class attributes of fields
    if slots:
        inherited = {n for base in cls.__mro__[1:-1] for n in vars(base).get("__slots__", ())}
        body = {k: v for k, v in vars(cls).items() if k not in by_name and k not in _OF_INSTANCES}
        body["__slots__"] = tuple(name for name in by_name if name not in inherited)
        metaclass: Any = type(cls)
        declared = metaclass(cls.__name__, cls.__bases__, body)
        declared.__qualname__ = cls.__qualname__
    attributes = {
        "__dataclass_fields__": by_name,
        "__dataclass_params__": _PARAMS,
        "__match_args__": tuple(name for name, f in by_name.items() if f.init),
    }
    for name, value in attributes.items():
        setattr(declared, name, value)
    for name, method in (("__init__", _Initializer(declared)), ("__repr__", _text)):
        if vars(declared).get(name) is None:
            setattr(declared, name, method)
    return declared


_OF_INSTANCES = ("__dict__", "__weakref__")
"""Attributes of instances of a class without slots, which the new class with slots must not get."""


def _fields_of(cls: type) -> dict[str, Field[Any]]:
    """Return the fields inherited and annotated; defaults stay attributes of the class."""
    by_name: dict[str, Field[Any]] = {}
    # from `object` to the direct base, so that a field declared again keeps its place
    for base in cls.__mro__[:0:-1]:
        by_name |= vars(base).get("__dataclass_fields__", {})
    for name, annotation in cls.__annotations__.items():
        if annotation.startswith("ClassVar"):
            continue
        default = vars(cls).get(name, MISSING)
        entry: Any = default if isinstance(default, Field) else field(default=default)
        if type(entry.default).__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name}: all objects would share {entry.default!r}")
        entry.name, entry.type, entry._field_type = name, annotation, _IS_FIELD
        entry.kw_only = False
        by_name[name] = entry
        # where ``field(...)`` was assigned, the class gets its default instead, or nothing
        if entry is default and entry.default is MISSING:
            delattr(cls, name)
        elif entry is default:
            setattr(cls, name, entry.default)
    return by_name


def _compared(cls: type[T], defined: Mapping[str, object]) -> type[T]:
    """Add equality and hash to the class, unless it defines them itself."""
    compared = [f for f in fields(cast("Any", cls)) if f.compare]
    get, hashed = (
        attrgetter(*names) if names else _nothing
        for names in ([f.name for f in compared], [f.name for f in compared if f.hash is not False])
    )
    for name, method in (("__eq__", _equality(get)), ("__hash__", _hashing(hashed))):
        if defined.get(name) is None:
            setattr(cls, name, method)
    return cls


def changed(one: T, **values: object) -> T:
    """Return a copy of a record with other values of some fields.

    `dataclasses.replace` takes three times as long.
    """
    cls: Any = type(one)
    places, get = _copied(cls)
    arguments = [*get(one)]
    for name, value in values.items():
        arguments[places[name]] = value
    return cast("T", cls(*arguments))


@cache
def _copied(cls: Any) -> tuple[dict[str, int], Callable[[Any], tuple[object, ...]]]:
    """Return the position of each field by name, and a function that gets all fields in order."""
    places = {f.name: i for i, f in enumerate(fields(cls))}
    return places, attrgetter(*places)


def project(cls: type[T], source: object, /, **computed: object) -> T:
    """Return a record whose fields are attributes of ``source`` of the same names, or ``computed``.

    A member of an enum becomes its value if the field is text.
    """
    values = dict(computed)
    for f in fields(cast("Any", cls)):
        if f.name not in computed:
            value = getattr(source, f.name)
            values[f.name] = value.value if f.type == "str" and isinstance(value, Enum) else value
    return cls(**values)


class _Initializer:
    """Placeholder for ``__init__`` until the first object; most classes of a process have none.

    As a descriptor it replaces itself by the generated function on first access.
    """

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __get__(self, instance: object, owner: type) -> Any:
        init = _initializer(self.cls)
        setattr(self.cls, "__init__", init)  # noqa: B010 - to a type checker it is no attribute
        return init.__get__(instance, owner)


def _initializer(cls: Any) -> FunctionType:
    """Return the ``__init__`` of a class, as a dataclass has it."""
    init = _plain(cls) or _written(cls)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {f.name: f.type for f in fields(cls) if f.init}
    return init


def _plain(cls: Any) -> FunctionType | None:
    """Return the ``__init__`` of a class with plain fields; None for classes that need more.

    Code that was compiled for another class with as many fields is reused with other names, as
    compilation takes twenty times as long.
    """
    declared = fields(cls)
    is_plain = all(f.init and f.default_factory is MISSING for f in declared)
    if not is_plain or hasattr(cls, "__post_init__"):
        return None
    names = tuple(f.name for f in declared)
    defaults = tuple(f.default for f in declared if f.default is not MISSING)
    if any(f.default is MISSING for f in declared[len(declared) - len(defaults) :]):
        raise TypeError(f"{cls.__name__}: a field without a default follows one that has it")
    code = _setting(len(names)).replace(co_varnames=("self", *names), co_names=names)
    return FunctionType(code, {}, "__init__", defaults)


@cache
def _setting(count: int) -> CodeType:
    """Return the code of an ``__init__`` that assigns ``count`` parameters to attributes."""
    names = [f"_{i}" for i in range(count)]
    # ``pass`` is the whole body for no parameters
    scope: dict[str, Any] = {}
    body = "; ".join(["pass", *(f"self.{name} = {name}" for name in names)])
    exec(f"def __init__({', '.join(['self', *names])}): {body}", scope)
    return cast("FunctionType", scope["__init__"]).__code__


def _written(cls: Any) -> FunctionType:
    """Return the ``__init__`` of any class, compiled from source.

    Defaults have the names of the fields after an underscore; factories run for each object.
    """
    names: dict[str, Any] = {"_unset": object()}
    parameters, body = ["self"], ["pass"]
    for f in fields(cls):
        default, value = f"_{f.name}", f.name
        if f.default_factory is not MISSING:
            names[default] = f.default_factory
            value = f"{default}() if {f.name} is _unset else {f.name}" if f.init else f"{default}()"
            parameters += [f"{f.name}=_unset"] if f.init else []
        elif f.default is not MISSING:
            names[default] = f.default
            value = f.name if f.init else default
            parameters += [f"{f.name}={default}"] if f.init else []
        elif f.init:
            parameters.append(f.name)
        if f.init or default in names:
            body.append(f"self.{f.name} = {value}")
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    exec(f"def __init__({', '.join(parameters)}): {'; '.join(body)}", names)
    return cast("FunctionType", names["__init__"])


def _nothing(self: object) -> tuple[()]:
    return ()


def _equality(get: Callable[[Any], object]) -> Callable[[Any, object], Any]:
    """Return the ``__eq__`` of a class whose compared fields ``get`` returns."""

    def equal(self: Any, other: object) -> Any:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashing(get: Callable[[Any], object]) -> Callable[[Any], int]:
    """Return the ``__hash__`` of a class, by the fields that ``get`` returns."""

    def hashed(self: Any) -> int:
        return hash(get(self))

    return hashed


def _text(self: Any) -> str:
    """Return an object as text, as dataclasses have it: ``Rows(rows=2, elements=6)``."""
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"
