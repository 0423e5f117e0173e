"""Name the nodes of a model without names: by modules of parameters, or by repeated blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, KeysView, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import eq
from typing import TypeAlias

from ..graph import Graph, Module, Node, Value
from ..op import Kind
from ..ops.elementwise.elementwise import Add
from ..tensors.types import TensorType

Path: TypeAlias = "tuple[str, ...]"
"""Path of a module: the names of outer modules and its own."""
NUMBERED = re.compile(r"([^/.]*_)?n?\d*")
"""Names by which exporters number nodes, unlike names of a program: ``node_Conv_12``, ``n7``."""
NAMED = 0.5
"""Minimum share of nodes with names, or of nodes with parameters that have paths, for these to be
used: a majority, since exporters add some nodes of their numbering to a named program."""
BLOCK = re.compile(r"^(before |after )?block \d+")
"""Start of a name by repeated blocks."""
LONGEST = 512
"""Maximum operators on the longest path through a block; it limits the time of the search."""
MOST = 4096
"""Maximum operators on a path in which blocks are searched: language models have up to 2,500, and
the search compares a path `LONGEST` times with itself."""
ARRANGEMENT = frozenset({Kind.VIEW, Kind.MOVEMENT, Kind.SHAPE})
"""Kinds of nodes that compute nothing; blocks may differ in them."""
LEAST = 0.1
"""Minimum share of a model's longest path that blocks of one kind must make up; fewer nodes that
repeat are a coincidence rather than a stage of the network."""
FIRST, TAKEN = 0x100, 0x10000
"""First characters for kinds of nodes, and for nodes that are in a block already. The search for
repeated blocks works on text, one character per node; both ranges lie outside of ASCII, so that no
character has a meaning in a regular expression."""


def placed(module: Module) -> Module:
    """Return the module with a path in each node's name, ``block 3 of 16/Conv``.

    Names of a file stay if they have paths. Otherwise paths are those of the parameters that nodes
    read, else of repeated blocks, which are independent of names of nodes and tensors.
    """
    graph = module.graph
    is_program_name = [NUMBERED.fullmatch(n.loc.name) is None for n in graph]
    if sum(is_program_name) > NAMED * len(is_program_name):
        return module
    stored: dict[Node, Path | None] = {}
    # nodes that read parameters, and those of them with a path of two parts or more
    nested = read = 0
    # from the end, so that the readers of a node have their paths
    for n in reversed(graph.nodes):
        stored[n] = path_of_weights(n)
        if any(map(is_parameter, n.inputs)):
            # a matrix without a path belongs to the module whose bias is added to its product
            users = {u for v in n.results for u in graph.users.get(v, ())}
            # so its only reader gives the path
            stored[n] = stored[n] or (stored[users.pop()] if len(users) == 1 else None)
            nested += len(stored[n] or ()) > 1
            read += 1
    is_named = nested >= NAMED * read > 0
    paths = filled([stored[n] for n in graph]) if is_named else structural(graph)
    if not any(paths):
        return module
    used = Counter[str]()
    nodes: list[Node] = []
    for node, path in zip(graph, paths, strict=True):
        plain = "/".join((*path, node.loc.op_type or node.op.mnemonic))
        used[plain] += 1
        name = plain if used[plain] == 1 else f"{plain}_{used[plain] - 1}"
        loc = replace(node.loc, name=name, in_file=node.loc.stored_name or node.name)
        nodes.append(replace(node, loc=loc))
    return replace(module, graph=replace(graph, nodes=tuple(nodes)))


def split(name: str) -> Path:
    """Return the parts of a name, split at slashes if it has any, otherwise at dots."""
    parts = name.strip("/").split("/")
    if len(parts) == 1:
        parts = name.split(".")
    return tuple(p for p in parts if p)


def path_of_weights(node: Node) -> Path | None:
    """Return the path of the first parameter that a node reads; None without one."""
    paths = (split(v.name)[:-1] for v in node.inputs if v is not None and is_parameter(v))
    return next((path for path in paths if path), None)


def is_parameter(v: Value | None) -> bool:
    """Return True for a parameter, False for settings that are stored, such as a shape or axes."""
    if v is None or not v.is_parameter:
        return False
    t = v.type
    return not (isinstance(t, TensorType) and t.dtype.is_integer and (t.rank is None or t.rank < 2))


def filled(paths: Sequence[Path | None]) -> list[Path]:
    """Return all paths; a missing one is the common prefix of the nearest ones before and after."""
    following: list[Path] = []
    after: Path = ()
    for path in reversed(paths):
        after = after if path is None else path
        following.append(after)
    completed: list[Path] = []
    before: Path = ()
    for path, after in zip(paths, reversed(following), strict=True):
        before = before if path is None else path
        completed.append(shared(before, after) if path is None else path)
    return completed


def shared(a: Iterable[str], b: Iterable[str]) -> Path:
    """Return the common prefix of two paths."""
    prefix: list[str] = []
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        prefix.append(x)
    return tuple(prefix)


def structural(graph: Graph) -> list[Path]:
    """Return the path of each node by the blocks that repeat on the longest path to an output."""
    # main: computing nodes of the longest path. readers: for each node of `main`, the most nodes
    # that read a tensor on the path between the previous computing node and this node
    path, active = longest(graph)
    if sum(n.op.kind not in ARRANGEMENT for n in path) > MOST:
        return [()] * len(graph.nodes)
    main: list[Node] = []
    readers: list[int] = []
    most = 0
    for before, node in pairwise((*path[:1], *path)):  # the first node twice: nothing is before it
        read = [len(graph.users[v]) for v in before.results if v in node.inputs]
        most = max([most, *read])
        if node.op.kind not in ARRANGEMENT:
            main.append(node)
            readers.append(most)
            most = 0
    spans = repeated(main, readers)
    if not spans:
        return [()] * len(graph.nodes)
    # positions on the main path. For a node that is not on the path, `first` has the position of
    # the first main node that depends on it (len(main) if none does), and `last` the position of
    # the last main node on which it depends (-1 if there is none)
    first = {n: i for i, n in enumerate(main)}
    last = dict(first)
    for node in reversed(graph.nodes):
        after = [first[u] for v in node.results for u in graph.users.get(v, ()) if u in first]
        first.setdefault(node, min(after, default=len(main)))
    for node in graph:
        makers = [m for v in node.inputs if v and (m := graph.producers.get(v))]
        last.setdefault(node, max([last[m] for m in makers], default=-1))
    paths: list[Path] = []
    for node in graph:
        position = first[node] if first[node] < len(main) else last[node]
        i = sum(position >= end for _, end in spans)  # number of blocks that end before the node
        if i == len(spans):
            paths.append((f"after block {i}",))
        # a node inside a block depends on the tensor that enters the block, unless it computes
        # from weights and shapes alone
        elif (start := spans[i][0]) <= position and (last[node] >= start - 1 or node not in active):
            paths.append((f"block {i + 1} of {len(spans)}",))
        else:
            paths.append((f"before block {i + 1}",))
    return paths


def longest(graph: Graph) -> tuple[list[Node], KeysView[Node]]:
    """Return the longest path of a graph, and all nodes on which paths may run.

    The longest path has the most nodes that read parameters; of several such paths, the most nodes.
    Paths run over nodes that depend on the contents of inputs, not only on weights and shapes.
    """
    # by node: nodes with parameters and all nodes on the longest path that ends there
    length = dict.fromkeys(graph.nodes[:0], (0, 0))  # an empty dictionary with types
    before: dict[Node, Node | None] = {}
    inputs = set(graph.inputs)
    for node in graph:
        makers = [m for v in node.inputs if v and (m := graph.producers.get(v)) in length]
        if node.op.kind is Kind.SHAPE or not (makers or inputs.intersection(node.inputs)):
            continue
        before[node] = nearest = max(makers, key=lambda m: length[m], default=None)
        with_parameters, count = length[nearest] if nearest else (0, 0)
        length[node] = with_parameters + any(map(is_parameter, node.inputs)), count + 1
    path: list[Node] = []
    last = max(length, key=lambda n: length[n], default=None)
    while last is not None:
        path.append(last)
        last = before[last]
    return path[::-1], length.keys()


def repeated(main: Sequence[Node], readers: Sequence[int]) -> list[tuple[int, int]]:
    """Return start and end of each block on a path, blocks of all kinds in order.

    Blocks of one kind have equal operators of any extents; sums of two activations may be missing,
    as in blocks that change the number of channels.

    Args:
        main: nodes of the path that compute.
        readers: for each node of ``main``, the number of nodes that read the tensor entering it.
    """
    kinds: dict[object, str] = {}
    text = "".join([kinds.setdefault(kind_of(n), chr(FIRST + len(kinds))) for n in main])
    sums = {c for c, n in zip(text, main, strict=True) if is_sum(n)}
    spans: list[tuple[int, int]] = []
    # each round adds the kind of block that covers most nodes, until the best covers too few
    while True:
        best: list[tuple[int, int]] = []
        for start, size in runs(text, readers):
            block = text[start : start + size]
            # a block as a text of one character per node: a sum may be missing
            pattern = "".join([f"{c}?" if c in sums else c for c in block])
            matches = [m.span() for m in re.finditer(pattern, text)]
            # a block without parameters is no module of the network
            if length_of(matches) > length_of(best) and any(
                is_parameter(v) for n in main[start : start + size] for v in n.inputs
            ):
                best = matches
        if len(best) < 2 or length_of(best) < LEAST * len(main):
            return sorted(spans)
        spans += best
        # nodes of these blocks become characters that repeat nowhere
        taken = {i for span in best for i in range(*span)}
        text = "".join([chr(TAKEN + i) if i in taken else c for i, c in enumerate(text)])


def runs(text: str, readers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield start and size of the first block of the longest repetition, for each block size.

    A block starts where most operators read the tensor that enters it, as residual branches split
    there.
    """
    for size in range(2, min(len(text) // 2, LONGEST) + 1):
        # 1 where a character equals the character `size` later; a run of 1 is a repetition
        equal = bytes(map(eq, text, text[size:]))
        run = max(equal.split(b"\0"), key=len)
        if len(run) >= size:
            first = equal.index(run)
            # starts from which as many whole blocks fit into the repetition
            starts, last = range(first, first + len(run) % size + 1), first + len(run)
            yield max(starts, key=lambda i: sum(readers[i:last:size])), size


def length_of(spans: Sequence[tuple[int, int]]) -> int:
    """Return the number of nodes in blocks."""
    return sum(end - start for start, end in spans)


def kind_of(node: Node) -> object:
    """Return the key of a node in which blocks of one kind agree.

    It is the operator; for convolutions also whether they are depthwise and whether pointwise.
    """
    if node.op.kind is not Kind.CONV or len(node.inputs) < 2 or node.inputs[1] is None:
        return node.op.mnemonic
    shape = node.inputs[1].shape or ()
    return node.op.mnemonic, shape[1:2] == (1,), all(extent == 1 for extent in shape[2:])


def is_sum(node: Node) -> bool:
    """Return True for a sum of activations or with a mask, as opposed to a bias."""
    stored = [v for v in node.inputs if v and v.weight]
    return isinstance(node.op, Add) and not any(len(v.shape or ()) < 2 for v in stored)
