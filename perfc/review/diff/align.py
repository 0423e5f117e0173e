"""Alignment of two graphs by structure: equal surroundings, then neighbors, then order.

Names only decide between pairings that are structurally equivalent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby

from perfc.ir import Graph, Node

from .gaps import aligned, gaps, increasing
from .labels import DiffSide, Labels
from .wiring import OUTSIDE, DiffWiring, skeleton, wiring

MOST_RUNS = 8
"""Maximum number of equal runs of layers that are searched at another place of the new graph.

With more of them the new graph is another model rather than an edit of the old one.
"""
MOST_EQUAL = 2_000_000
"""Maximum pairs of nodes with equal labels in a search for the longest run, as its time grows with
them; a chain of one repeated layer has more.
"""
MOVED_PRODUCTS = 2
"""Minimum number of products in a run that moved: one product alone is often equal by chance."""


@dataclass(frozen=True)
class Alignment:
    """Matched nodes of two graphs.

    Args:
        pairs: old and new node, in the new order, including nodes of regions.
        removed: nodes only in the old graph.
        added: nodes only in the new graph.
        moved: new nodes of runs that are equal but elsewhere.
        copied: added nodes that repeat a run of the old graph, each with the name of the old node
            that it repeats.
    """

    pairs: tuple[tuple[Node, Node], ...]
    removed: tuple[Node, ...]
    added: tuple[Node, ...]
    moved: frozenset[Node] = frozenset()
    copied: Mapping[Node, str] = field(default_factory=dict)


def align(old: Graph, new: Graph, old_side: DiffSide, new_side: DiffSide) -> Alignment:
    """Align two graphs, typed and folded.

    Stages, from certain to likely: (1) nodes with equal ancestors and descendants, then with equal
    ancestors or descendants (exact Weisfeiler-Lehman colors along the edges, not hashed), with
    types and then without; (2) the same on the graph of products only, on which exporters agree;
    (3) neighbors of pairs at the same operand; (4) in the gaps between pairs, the ordered pairing
    with the best score.
    """
    matching = Matching(wiring(old), wiring(new), Labels(old_side), Labels(new_side))
    matching.run()
    pairs = [(matching.old.nodes[i], matching.new.nodes[j]) for i, j in matching.by_new()]
    removed = [n for i, n in enumerate(matching.old.nodes) if i not in matching.of_old]
    added = [n for j, n in enumerate(matching.new.nodes) if j not in matching.of_new]
    for a, b in list(pairs):  # bodies of loops and branches that are matched themselves
        # a region that only one side has is not compared
        for left, right in zip(a.regions, b.regions, strict=False):
            inner = align(left, right, old_side, new_side)
            pairs += inner.pairs
            removed += inner.removed
            added += inner.added
    return Alignment(
        tuple(pairs), tuple(removed), tuple(added), matching.moved(), matching.copied()
    )


class Matching:
    """Pairs of nodes between two wirings, extended by each stage.

    Nodes are their numbers in a wiring: ``of_old`` gives the new number by the old one, ``of_new``
    the reverse; ``in_runs`` are the pairs of `runs`, and ``strict`` the labels of both sides.
    """

    def __init__(self, old: DiffWiring, new: DiffWiring, left: Labels, right: Labels) -> None:
        self.old, self.new = old, new
        self.left, self.right = left, right
        self.of_old: dict[int, int] = {}
        self.of_new: dict[int, int] = {}
        self.in_runs: set[tuple[int, int]] = set()
        self.strict = (
            [left.strict(n) for n in old.nodes],
            [right.strict(n) for n in new.nodes],
        )

    def by_new(self) -> list[tuple[int, int]]:
        """Return the pairs in the new order."""
        return [(self.of_new[j], j) for j in sorted(self.of_new)]

    def pair(self, i: int, j: int) -> bool:
        """Match two nodes; return False if one of them is already matched."""
        if i in self.of_old or j in self.of_new:
            return False
        self.of_old[i], self.of_new[j] = j, i
        return True

    def run(self) -> None:
        """Run every stage."""
        rough = (
            [self.left.shapeless(n) for n in self.old.nodes],
            [self.right.shapeless(n) for n in self.new.nodes],
        )
        # nodes that their types distinguish are matched first: without types, layers look equal
        self.colors(*self.strict)
        self.colors(*rough, is_sure=True)
        self.runs()
        self.products()
        if self.is_done:
            return
        self.spread(*self.strict)
        self.colors(*rough)
        self.spread(*rough)
        self.fill(self.score)
        mnemonics = [[n.op.mnemonic for n in side.nodes] for side in (self.old, self.new)]
        self.spread(*mnemonics)

    def runs(self) -> None:
        """Pair the longest equal runs of layers, wherever they are."""
        old_labels, new_labels = self.strict
        for _ in range(MOST_RUNS):
            old, new = self.left_over()
            a, b = [old_labels[i] for i in old], [new_labels[j] for j in new]
            i, j, size = longest_equal(a, b)
            run = list(zip(old[i : i + size], new[j : j + size], strict=True))
            if self.products_in(j for _, j in run) < MOVED_PRODUCTS:
                return
            self.in_runs.update(pair for pair in run if self.pair(*pair))

    def left_over(self) -> tuple[list[int], list[int]]:
        """Return the nodes of both sides that are not matched."""
        old = [i for i in range(len(self.old.nodes)) if i not in self.of_old]
        return old, [j for j in range(len(self.new.nodes)) if j not in self.of_new]

    def products_in(self, run: Iterable[int]) -> int:
        """Return the number of products among nodes of the new graph."""
        return sum(self.right.mac(self.new.nodes[j]) > 0 for j in run)

    def moved(self) -> frozenset[Node]:
        """Return the new nodes of equal runs that are not in the order of the other pairs."""
        order = increasing(self.of_old.items())
        return frozenset(self.new.nodes[j] for _, j in self.in_runs.difference(order))

    def copied(self) -> dict[Node, str]:
        """Return added nodes that repeat a run of the old graph, with the names of its nodes."""
        old_labels, new_labels = self.strict
        copied: dict[Node, str] = {}
        _, unmatched = self.left_over()
        # node minus position is constant within a run of consecutive nodes
        for _, group in groupby(enumerate(unmatched), lambda item: item[1] - item[0]):
            run = [j for _, j in group]
            start, _, size = longest_equal(old_labels, [new_labels[j] for j in run])
            if size == len(run) and self.products_in(run):
                origins = self.old.nodes[start : start + size]
                copied |= {self.new.nodes[j]: n.name for j, n in zip(run, origins, strict=True)}
        return copied

    @property
    def is_done(self) -> bool:
        """Return True if all nodes of one side are matched."""
        return len(self.of_old) == min(len(self.old.nodes), len(self.new.nodes))

    def products(self) -> None:
        """Align the graphs of products only, then take over the pairs.

        ``full_old`` and ``full_new`` are the numbers of the products in the whole wirings.
        """
        left, full_old = skeleton(self.old, lambda n: self.left.mac(n) > 0)
        right, full_new = skeleton(self.new, lambda n: self.right.mac(n) > 0)
        inner = Matching(left, right, self.left, self.right)
        place_old = {i: k for k, i in enumerate(full_old)}
        place_new = {j: k for k, j in enumerate(full_new)}
        for i, j in self.of_old.items():
            if i in place_old and j in place_new:
                inner.pair(place_old[i], place_new[j])
        # from strict to loose: class, work and weights; class and weights; class
        levels = [
            ([of_old(n) for n in left.nodes], [of_new(n) for n in right.nodes])
            for of_old, of_new in (
                (self.left.product, self.right.product),
                (self.left.size, self.right.size),
                (self.left.kind, self.right.kind),
            )
        ]
        inner.colors(*levels[0])
        for tags in levels[1:]:
            inner.colors(*tags, is_sure=True)
        for tags in levels:
            inner.spread(*tags)
            inner.fill(partial(inner.product_score, tags=tags))
        for i, j in inner.of_old.items():
            self.pair(full_old[i], full_new[j])

    def colors(
        self, old: Sequence[Hashable], new: Sequence[Hashable], *, is_sure: bool = False
    ) -> None:
        """Pair nodes with equal ancestors and descendants, then only ancestors, then descendants.

        With ``is_sure`` the last two are skipped: without extents too many nodes look equal.
        """
        memo: dict[Hashable, int] = {}
        past = color(self.old, old, memo, back=False), color(self.new, new, memo, back=False)
        future = color(self.old, old, memo, back=True), color(self.new, new, memo, back=True)
        both = [list(zip(p, f, strict=True)) for p, f in zip(past, future, strict=True)]
        self.buckets(*both)
        if not is_sure:
            self.buckets(*past)
            self.buckets(*future)

    def buckets(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        """Pair nodes of one color in order if both sides have equally many."""
        left = grouped((c, i) for i, c in enumerate(old) if i not in self.of_old)
        right = grouped((c, j) for j, c in enumerate(new) if j not in self.of_new)
        for c, ours in left.items():
            theirs = right.get(c, [])
            # with unequal numbers it would be a guess which ones have a partner
            if len(ours) == len(theirs):
                for i, j in self.named(ours, theirs):
                    self.pair(i, j)

    def named(self, ours: list[int], theirs: list[int]) -> Iterable[tuple[int, int]]:
        """Return pairs by name if all names agree, otherwise in order."""
        if len(ours) > 1:
            by_name = {self.new.nodes[j].name: j for j in theirs}
            names = [self.old.nodes[i].name for i in ours]
            if len(by_name) == len(ours) and set(names) == set(by_name):
                return [(i, by_name[name]) for i, name in zip(ours, names, strict=True)]
        return zip(ours, theirs, strict=True)

    def spread(self, old: Sequence[Hashable], new: Sequence[Hashable]) -> None:
        """Pair neighbors of pairs with equal labels at the same operand."""
        waiting = list(self.of_old.items())
        while waiting:
            i, j = waiting.pop()
            pairs: list[tuple[int, int]] = []
            # operands of a skeleton have no order: only readers are compared there
            if self.old.is_ordered:
                pairs += only(
                    fed_by(self.old, i, old, self.of_old), fed_by(self.new, j, new, self.of_new)
                )
            left = [((old[u], slot), u) for u, slot in self.old.after[i] if u not in self.of_old]
            right = [((new[u], slot), u) for u, slot in self.new.after[j] if u not in self.of_new]
            pairs += only(left, right)
            waiting += [pair for pair in pairs if self.pair(*pair)]

    def fill(self, score: Callable[[int, int], float]) -> None:
        """Pair remaining nodes in the gaps between pairs of increasing order."""
        old, new = self.left_over()
        frame = increasing(self.of_old.items())
        for left, right in list(gaps(old, new, frame)):
            for i, j in aligned(left, right, score):
                self.pair(i, j)

    def score(self, i: int, j: int) -> float:
        """Return the similarity of two nodes; 0 if they cannot match."""
        a, b = self.old.nodes[i], self.new.nodes[j]
        if a.op.mnemonic != b.op.mnemonic:
            return 0.0
        # equal labels add 3, as much as three matched neighbors (see `shared`); an equal name adds
        # less than one neighbor and only decides ties, as exporters number nodes
        similarity = 6.0 if self.strict[0][i] == self.strict[1][j] else 3.0
        return similarity + self.shared(i, j) + (0.5 if a.name == b.name else 0.0)

    def product_score(
        self, i: int, j: int, tags: tuple[Sequence[Hashable], Sequence[Hashable]]
    ) -> float:
        """Return the similarity of two products; 0 for different classes."""
        a, b = self.old.nodes[i], self.new.nodes[j]
        if a.op.kind is not b.op.kind:
            return 0.0
        # equal labels add 4, as much as all matched neighbors together (see `shared`), and an equal
        # tag adds 2; an equal name only decides ties
        similarity = 6.0 if self.strict[0][i] == self.strict[1][j] else 2.0
        similarity += 2.0 if tags[0][i] == tags[1][j] else 0.0
        return similarity + self.shared(i, j) + (0.5 if a.name == b.name else 0.0)

    def shared(self, i: int, j: int) -> float:
        """Return the number of matched neighbors of two nodes, at most two each way."""
        # -2 is no node: -1 (OUTSIDE) may be among the producers
        fed = sum(self.of_old.get(p, -2) in self.new.before[j] for p in self.old.before[i])
        readers = {u for u, _ in self.new.after[j]}
        read = sum(self.of_old.get(u, -2) in readers for u, _ in self.old.after[i])
        return min(fed, 2) + min(read, 2)


def color(
    graph: DiffWiring, labels: Sequence[Hashable], memo: dict[Hashable, int], *, back: bool
) -> list[int]:
    """Color nodes so that equal colors mean equal labels and ancestors.

    With ``back``, equal colors mean equal descendants instead. ``memo`` numbers the colors: graphs
    that share it have comparable ones.
    """
    count = len(graph.nodes)
    colors = [OUTSIDE] * count
    for k in range(count - 1, -1, -1) if back else range(count):
        neighbors: Sequence[object]
        if back:
            neighbors = sorted([(colors[u], slot) for u, slot in graph.after[k]])
        else:
            makers = [colors[p] if p != OUTSIDE else OUTSIDE for p in graph.before[k]]
            neighbors = (
                makers if graph.is_ordered and not is_commutative(graph, k) else sorted(makers)
            )
        key = (back, labels[k], tuple(neighbors))
        colors[k] = memo.setdefault(key, len(memo))
    return colors


def is_commutative(graph: DiffWiring, k: int) -> bool:
    """Return True if the order of the operands of a node does not matter."""
    return graph.nodes[k].op.is_commutative


def fed_by(
    graph: DiffWiring, k: int, labels: Sequence[Hashable], taken: Mapping[int, int]
) -> list[tuple[Hashable, int]]:
    """Return unmatched producers of the operands of a node, with label and operand index."""
    is_ordered = not is_commutative(graph, k)
    makers = enumerate(graph.before[k])
    return [
        ((labels[p], slot if is_ordered else 0), p)
        for slot, p in makers
        if p != OUTSIDE and p not in taken
    ]


def longest_equal(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[int, int, int]:
    """Return where the longest equal run starts in both sequences, and its length."""
    counts = Counter(b)
    if sum(counts[x] for x in a) > MOST_EQUAL:
        return 0, 0, 0
    return SequenceMatcher(None, a, b, autojunk=False).find_longest_match()


def only(
    old: Iterable[tuple[Hashable, int]], new: Iterable[tuple[Hashable, int]]
) -> list[tuple[int, int]]:
    """Return pairs of equal keys that are unique on both sides."""
    left, right = grouped(old), grouped(new)
    return [
        (ours[0], right[key][0])
        for key, ours in left.items()
        if len(ours) == len(right.get(key, ())) == 1
    ]


def grouped(items: Iterable[tuple[Hashable, int]]) -> dict[Hashable, list[int]]:
    """Group numbers by key, without duplicates and in order."""
    groups: dict[Hashable, list[int]] = {}
    for key, number in items:
        numbers = groups.setdefault(key, [])
        if number not in numbers:
            numbers.append(number)
    return groups
