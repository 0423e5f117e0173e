"""Linear models, support vector machines and tree ensembles of classical machine learning."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ... import (
    Attributes,
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    TensorType,
    Types,
    Work,
    frozen,
    single,
    tensor,
)
from ..elementwise.exact import checked
from .classical import in_rows, length, row_count


def _labels(attrs: Mapping[str, object]) -> Attributes:
    """Return the number and type of the class labels."""
    strings = attrs.get("classlabels_strings")
    ints = attrs.get("classlabels_ints") or attrs.get("classlabels_int64s")
    return {
        "classes": length(strings) or length(ints),
        "label": DType.STR if strings else DType.I64,
    }


@frozen
class Model(Op):
    """A model over rows of features, with its parameters as attributes.

    Work:    proportional to the number of rows n.
    Traffic: each operand and each result once; the parameters, which are attributes, left out.
    """

    kind = Kind.CLASSICAL
    operands = "X"
    macs_in = DType.F32

    def rows(self, ins: Inputs) -> Dim:
        """Return the rows of the input; 0 if the rank is unknown."""
        shape = in_rows(tensor(ins, 0).shape)
        return 0 if shape is None else shape[0]

    def scored(self, ins: Inputs, columns: int) -> TensorType:
        """Return the type of the scores: ``columns`` for each row of the input."""
        width = checked(columns, "number of scores")
        return TensorType(DType.F32, (row_count(tensor(ins, 0).shape), width))

    def labelled(self, scores: TensorType, label: DType) -> TensorType:
        """Return the type of the labels for these scores."""
        return TensorType(label, None if scores.shape is None else scores.shape[:1])


@frozen
class LinearRegressor(Model):
    """``X @ coefficients + intercepts``.

    Shapes:  X[n, c] -> f32[n, targets]; a vector is one row.
    Work:    {mac} with w coefficients.
    Traffic: X and result once; the parameters, which are attributes, left out.
    Source:  ai.onnx.ml LinearRegressor-1.
    """

    mnemonic = "linear_regressor"
    onnx = "ai.onnx.ml::LinearRegressor"
    formulas = {"mac": "n*w"}
    targets: Natural = 1
    coefficients: Natural = 0
    post_transform: str = "NONE"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the number of coefficients."""
        return {**attrs, "coefficients": length(attrs.get("coefficients"))}

    def infer(self, ins: Inputs) -> Types:
        return (self.scored(ins, self.targets),)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"n": self.rows(ins), "w": self.coefficients}


@frozen
class LinearClassifier(Model):
    """Labels and scores of a linear model.

    Shapes:  X[n, c] -> labels[n], f32[n, classes]; a binary model with one row of coefficients
             has two classes.
    Work:    {mac} with w coefficients; the transform of the scores is not counted.
    Traffic: X and results once; the parameters, which are attributes, left out.
    Source:  ai.onnx.ml LinearClassifier-1.
    """

    mnemonic = "linear_classifier"
    onnx = "ai.onnx.ml::LinearClassifier"
    formulas = {"mac": "n*w"}
    classes: Natural = 0
    label: DType = DType.I64
    coefficients: Natural = 0
    post_transform: str = "NONE"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the type of labels and the numbers of labels and coefficients."""
        labels = _labels(attrs)
        # without labels the intercepts count the classes: there is one per class
        if not labels["classes"]:
            labels["classes"] = length(attrs.get("intercepts"))
        return {**attrs, **labels, "coefficients": length(attrs.get("coefficients"))}

    def infer(self, ins: Inputs) -> Types:
        scores = self.scored(ins, self.classes)
        return self.labelled(scores, self.label), scores

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"n": self.rows(ins), "w": self.coefficients}


@frozen
class SVMRegressor(Model):
    """Support vector regression.

    Shapes:  X[n, c] -> f32[n, 1].
    Work:    {mac}: s elements of support vectors, k coefficients; {sfu}: a kernel
             function for each of v support vectors if the kernel is not linear.
    Traffic: X and result once; the parameters, which are attributes, left out.
    Source:  ai.onnx.ml SVMRegressor-1.
    """

    mnemonic = "svm_regressor"
    onnx = "ai.onnx.ml::SVMRegressor"
    formulas = {"mac": "n*(s + k)", "sfu": "n*v"}
    coefficients: Natural = 0
    support_elements: Natural = 0
    n_supports: Natural = 0
    kernel_type: str = "LINEAR"
    post_transform: str = "NONE"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the numbers of coefficients, of elements and of support vectors."""
        per_class = attrs.get("vectors_per_class")
        # a classifier (subclass) gives its support vectors per class, a regressor in one number
        vectors = sum(per_class) if isinstance(per_class, tuple) else attrs.get("n_supports", 0)
        return {
            **attrs,
            "coefficients": length(attrs.get("coefficients")),
            "support_elements": length(attrs.get("support_vectors")),
            "n_supports": vectors,
        }

    def infer(self, ins: Inputs) -> Types:
        return (self.scored(ins, 1),)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {
            "n": self.rows(ins),
            "s": self.support_elements,
            "k": self.coefficients,
            # a linear kernel is the product alone
            "v": 0 if self.kernel_type == "LINEAR" else self.n_supports,
        }


@frozen
class SVMClassifier(SVMRegressor):
    """Labels and scores of support vector classification.

    Shapes:  X[n, c] -> labels[n], f32[n, k]: k classes with probabilities or without support
             vectors, else the pairs of classes, two for a single pair.
    Work:    as SVMRegressor; votes and probabilities are not counted.
    Traffic: X and results once; the parameters, which are attributes, left out.
    Source:  ai.onnx.ml SVMClassifier-1; column count of ONNX Runtime svmclassifier.cc.
    """

    mnemonic = "svm_classifier"
    onnx = "ai.onnx.ml::SVMClassifier"
    classes: Natural = 0
    label: DType = DType.I64
    has_probabilities: bool = False

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the type of labels and the numbers of labels and support vectors."""
        attributes = super().adapt(attrs, version)
        return {**attributes, **_labels(attrs), "has_probabilities": bool(attrs.get("prob_a"))}

    def infer(self, ins: Inputs) -> Types:
        columns = self.classes
        if self.n_supports and not self.has_probabilities:
            # a score for every pair of classes; a single pair has one for each of its two classes
            pairs = self.classes * (self.classes - 1) // 2
            columns = 2 if pairs == 1 else pairs
        scores = self.scored(ins, columns)
        return self.labelled(scores, self.label), scores


def _ints(attrs: Mapping[str, object], name: str) -> tuple[int, ...]:
    """Return a list attribute of integers, () if it is missing or of another type."""
    value = attrs.get(name)
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()


def fewest_comparisons(children: Sequence[tuple[int, ...]]) -> int:
    """Return the comparisons on the shortest path from each root to a leaf, summed over trees.

    Args:
        children: for each node its child nodes, none for a leaf.
    """
    # roots are the nodes that are no child of any node
    roots = set(range(len(children))) - {c for below in children for c in below}
    depth = dict.fromkeys(roots, 0)
    shortest: dict[int, int] = {}
    queue = deque((root, root) for root in depth)
    seen = set(depth)  # a damaged file may have cycles
    while queue:
        node, root = queue.popleft()
        # breadth first: the first leaf of a tree that is reached is its nearest
        if root in shortest:
            continue
        if not children[node]:
            shortest[root] = depth[node]
            continue
        for child in children[node]:
            if child not in seen and 0 <= child < len(children):
                seen.add(child)
                depth[child] = depth[node] + 1
                queue.append((child, root))
    return sum(shortest.values())


@frozen
class TreeEnsemble(Model):
    """Values of the leaves that each row reaches, aggregated over trees.

    Shapes:  X[n, c] -> [n, n_targets], of the type of X.
    Work:    {alu}: for each row the comparisons on the shortest path of every tree; deeper
             paths, which depend on data, and the aggregation are not counted: a lower bound.
    Traffic: X and result once; the trees, which are attributes, left out.
    Source:  ai.onnx.ml TreeEnsemble-5.
    """

    mnemonic = "tree_ensemble"
    onnx = "ai.onnx.ml::TreeEnsemble"
    formulas = {"alu": "n*c"}
    n_targets: Natural = 1
    comparisons: Natural = 0

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the minimum number of comparisons."""
        # one comparison per tree, at its root: in this form of the operator leaves are in lists of
        # their own, so that a root is never a leaf
        roots = len(set(_ints(attrs, "tree_roots")))
        return {**attrs, "comparisons": roots}

    def infer(self, ins: Inputs) -> Types:
        dtype = tensor(ins, 0).dtype
        return single(dtype, self.scored(ins, self.n_targets).shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return {"n": self.rows(ins), "c": self.comparisons}

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        shortest = super().work(ins, outs)
        return shortest and replace(shortest, is_bound=True)


def _least(attrs: Mapping[str, object]) -> int:
    """Return the minimum comparisons of trees that attributes list node by node; 0 if damaged.

    A node has the number of its tree and a number within the tree, by which others name it.
    """
    trees, nodes = _ints(attrs, "nodes_treeids"), _ints(attrs, "nodes_nodeids")
    yes, no = _ints(attrs, "nodes_truenodeids"), _ints(attrs, "nodes_falsenodeids")
    modes = attrs.get("nodes_modes")
    if not isinstance(modes, tuple) or len({len(c) for c in (trees, nodes, yes, no, modes)}) > 1:
        return 0
    index_of = {key: i for i, key in enumerate(zip(trees, nodes, strict=True))}
    children: list[tuple[int, ...]] = []
    for tree, a, b, mode in zip(trees, yes, no, modes, strict=True):
        # -1 stands for a child that is missing: `fewest_comparisons` skips it
        below = () if mode == "LEAF" else (index_of.get((tree, a), -1), index_of.get((tree, b), -1))
        children.append(below)
    return fewest_comparisons(children)


class TreeEnsembleRegressor(TreeEnsemble):
    """Regression by trees, in 32-bit floats. Source: ai.onnx.ml TreeEnsembleRegressor-5."""

    mnemonic = "tree_ensemble_regressor"
    onnx = "ai.onnx.ml::TreeEnsembleRegressor"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the minimum number of comparisons."""
        return {**attrs, "comparisons": _least(attrs)}

    def infer(self, ins: Inputs) -> Types:
        return (self.scored(ins, self.n_targets),)


@frozen
class TreeEnsembleClassifier(TreeEnsemble):
    """Labels and scores by trees.

    Shapes:  X[n, c] -> labels[n], f32[n, classes].
    Work:    as TreeEnsemble.
    Traffic: X and results once; the trees, which are attributes, left out.
    Source:  ai.onnx.ml TreeEnsembleClassifier-5.
    """

    mnemonic = "tree_ensemble_classifier"
    onnx = "ai.onnx.ml::TreeEnsembleClassifier"
    classes: Natural = 0
    label: DType = DType.I64

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Store only the type and number of labels and the minimum number of comparisons."""
        return {**attrs, **_labels(attrs), "comparisons": _least(attrs)}

    def infer(self, ins: Inputs) -> Types:
        scores = self.scored(ins, self.classes)
        return self.labelled(scores, self.label), scores
