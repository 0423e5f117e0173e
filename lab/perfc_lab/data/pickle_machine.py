"""The value that a pickle stands for, without running it.

A pickle is a program.  Here its instructions are decoded by ``pickletools``, which imports and
calls nothing, and interpreted as far as they make lists, mappings, numbers, texts and arrays; an
instruction or name beyond those is an error.
"""

from __future__ import annotations

import io
import pickletools
from dataclasses import dataclass, field

from perfc.ir.record import record

MAX_ELEMENTS = 1 << 27
"""Maximum elements of a tensor that a damaged pickle can claim."""
# NumPy's types of PyTorch's storages; a storage of another class is an error
STORAGES = {
    "torch.FloatStorage": "<f4",
    "torch.DoubleStorage": "<f8",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.ShortStorage": "<i2",
    "torch.ByteStorage": "|u1",
    "torch.CharStorage": "|i1",
    "torch.BoolStorage": "|b1",
    "torch.HalfStorage": "<f2",
}
LITERALS = {
    "INT",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG",
    "LONG1",
    "LONG4",
    "FLOAT",
    "BINFLOAT",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
    "UNICODE",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
    "BINBYTES",
    "SHORT_BINBYTES",
    "BINBYTES8",
}
"""Instructions that push their argument."""
NOTHING = {"PROTO", "FRAME", "STOP"}
"""Instructions that change no value."""
# store the top of the stack under a number
PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
# push what `PUTS` stored
GETS = {"GET", "BINGET", "LONG_BINGET"}


@record
class PickledName:
    """A class or function that a file names; it is not looked up."""

    text: str


@dataclass(slots=True)
class TorchCall:
    """A call that a file asks for; it is not made.

    Args:
        name: class or function, with its module.
        arguments: of the call.
        state: what ``BUILD`` sets on the result.
        items: entries that are set on the result, as of an ordered mapping.
    """

    name: str
    arguments: tuple[object, ...]
    state: object = None
    items: dict[object, object] = field(default_factory=dict)


@record
class Storage:
    """A reference to numbers in a file next to the pickle.

    Args:
        dtype: NumPy's type of an element.
        key: name of the file.
        count: number of elements.
    """

    dtype: str
    key: str
    count: int


class PickleMachine:
    """Interpreter of a pickle: its stack, the stacks below marks, its memo and its storages."""

    def __init__(self) -> None:
        self.stack: list[object] = []
        self.below: list[list[object]] = []
        self.memo: dict[int, object] = {}
        self.storages: dict[str, Storage] = {}

    def run(self, stream: io.BufferedIOBase) -> object:
        """Return the value that one pickle of a stream stands for.

        The stream then stands behind the pickle.
        """
        for opcode, argument, _ in pickletools.genops(stream):  # type: ignore[arg-type]
            self.step(opcode.name, argument)
        return self.stack.pop()

    def step(self, op: str, argument: object) -> None:
        """Run one instruction."""
        # both act on the stack that the instruction begins with, which only MARK replaces
        push, pop = self.stack.append, self.stack.pop
        if op in LITERALS:
            push(argument)
        elif op in PUTS:
            self.memo[int(str(argument))] = self.stack[-1]
        elif op in GETS:
            push(self.memo[int(str(argument))])
        elif op not in NOTHING:
            match op:
                case "MEMOIZE":
                    self.memo[len(self.memo)] = self.stack[-1]
                case "MARK":
                    self.below.append(self.stack)
                    self.stack = []
                case "NONE" | "NEWTRUE" | "NEWFALSE":
                    push({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[op])
                case "GLOBAL":
                    # "module name"
                    push(PickledName(str(argument).replace(" ", ".")))
                case "STACK_GLOBAL":
                    last, first = pop(), pop()
                    push(PickledName(f"{first}.{last}"))
                case "REDUCE" | "NEWOBJ":
                    arguments, called = pop(), pop()
                    if not isinstance(called, PickledName) or not isinstance(arguments, tuple):
                        raise TypeError(op)
                    push(TorchCall(called.text, arguments))
                case "BUILD":
                    state, call = pop(), self.stack[-1]
                    if not isinstance(call, TorchCall):
                        raise TypeError(op)
                    call.state = state
                case "BINPERSID":
                    # an object outside the pickle: PyTorch's tensors refer to their numbers so
                    storage = storage_of(pop())
                    self.storages[storage.key] = storage
                    push(storage)
                case _:
                    self.collect(op)

    def collect(self, op: str) -> None:
        """Run an instruction that makes or fills lists, tuples and mappings."""
        stack = self.stack
        match op:
            case "EMPTY_LIST" | "EMPTY_TUPLE" | "EMPTY_DICT":
                empty: dict[str, object] = {"EMPTY_LIST": [], "EMPTY_TUPLE": (), "EMPTY_DICT": {}}
                stack.append(empty[op])
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                size = int(op[-1])
                stack[-size:] = [tuple(stack[-size:])]
            case "TUPLE":
                self.push_marked(tuple)
            case "LIST":
                self.push_marked(list)
            case "DICT":
                self.push_marked(lambda items: dict(zip(items[::2], items[1::2], strict=True)))
            case "APPEND":
                item = stack.pop()
                self.extend([item])
            case "APPENDS":
                self.extend(self.marked())
            case "SETITEM":
                pair = [stack.pop(-2), stack.pop()]
                self.update(pair)
            case "SETITEMS":
                self.update(self.marked())
            case _:
                raise ValueError(f"the instruction {op}")

    def marked(self) -> list[object]:
        """Return the values above the last mark."""
        items, self.stack = self.stack, self.below.pop()
        return items

    def push_marked(self, make: object) -> None:
        """Push a collection of what lies above the last mark."""
        items = self.marked()
        self.stack.append(make(items))  # type: ignore[operator]

    def extend(self, items: list[object]) -> None:
        """Append to the list on top."""
        top = self.stack[-1]
        if not isinstance(top, list):
            raise TypeError("APPEND")
        top.extend(items)

    def update(self, items: list[object]) -> None:
        """Set entries of the mapping on top."""
        top = self.stack[-1]
        target = top.items if isinstance(top, TorchCall) else top
        if not isinstance(target, dict):
            raise TypeError("SETITEM")
        target.update(zip(items[::2], items[1::2], strict=True))


def storage_of(reference: object) -> Storage:
    """Return the storage that a persistent id refers to."""
    if not isinstance(reference, tuple) or reference[0] != "storage":
        raise ValueError("a reference to no storage")
    # ("storage", class, key, device, number of elements)
    kind, key, count = reference[1], str(reference[2]), int(reference[4])
    if (
        not isinstance(kind, PickledName)
        or kind.text not in STORAGES
        or not 0 <= count <= MAX_ELEMENTS
    ):
        raise ValueError(f"a storage of {kind}")
    return Storage(STORAGES[kind.text], key, count)
