"""Linear models, support vector machines and tree ensembles of classical machine learning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from ... import (
    Attributes,
    Dim,
    DType,
    Extents,
    Inputs,
    Natural,
    Parts,
    TensorType,
    Traffic,
    Types,
    Work,
    count,
    dim_sum,
    each_once,
    frozen,
    single,
    tensor,
)
from ...traffic import parts_once, rows_read
from ..elementwise.exact import checked
from .classical import Stored, in_rows, length, row_count
from .trees import Paths, forest, forest_of_branches


def _labels(attrs: Mapping[str, object]) -> Attributes:
    """Return the number and type of the class labels."""
    strings = attrs.get("classlabels_strings")
    ints = attrs.get("classlabels_ints") or attrs.get("classlabels_int64s")
    return {
        "classes": length(strings) or length(ints),
        "label": DType.STR if strings else DType.I64,
    }


@frozen
class Model(Stored):
    """A model over rows of features.

    Work:    proportional to the number of rows n.
    Traffic: X, the parameters and each result once.
    """

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
    Traffic: X, parameters and result once.
    Source:  ai.onnx.ml LinearRegressor-1.
    """

    mnemonic = "linear_regressor"
    onnx = "ai.onnx.ml::LinearRegressor"
    stores = {"parameters": "coefficients intercepts"}
    formulas = {"mac": "n*w"}
    targets: Natural = 1
    coefficients: Natural = 0
    post_transform: str = "NONE"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add the parameters and the number of coefficients."""
        attributes = super().adapt(attrs, version)
        return {**attributes, "coefficients": length(attrs.get("coefficients"))}

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
    Traffic: X, parameters and results once.
    Source:  ai.onnx.ml LinearClassifier-1.
    """

    mnemonic = "linear_classifier"
    onnx = "ai.onnx.ml::LinearClassifier"
    stores = {"parameters": "coefficients intercepts"}
    formulas = {"mac": "n*w"}
    classes: Natural = 0
    label: DType = DType.I64
    coefficients: Natural = 0
    post_transform: str = "NONE"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add parameters, type of labels, and numbers of labels and coefficients."""
        labels = _labels(attrs)
        # without labels the intercepts count the classes: there is one per class
        if not labels["classes"]:
            labels["classes"] = length(attrs.get("intercepts"))
        attributes = {**super().adapt(attrs, version), **labels}
        return {**attributes, "coefficients": length(attrs.get("coefficients"))}

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
    Traffic: X, parameters and result once.
    Source:  ai.onnx.ml SVMRegressor-1.
    """

    mnemonic = "svm_regressor"
    onnx = "ai.onnx.ml::SVMRegressor"
    stores = {"parameters": "coefficients support_vectors rho prob_a prob_b"}
    formulas = {"mac": "n*(s + k)", "sfu": "n*v"}
    coefficients: Natural = 0
    support_elements: Natural = 0
    n_supports: Natural = 0
    kernel_type: str = "LINEAR"
    post_transform: str = "NONE"

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add parameters, and numbers of coefficients, of elements and of support vectors."""
        per_class = attrs.get("vectors_per_class")
        # a classifier (subclass) gives its support vectors per class, a regressor in one number
        vectors = sum(per_class) if isinstance(per_class, tuple) else attrs.get("n_supports", 0)
        return {
            **super().adapt(attrs, version),
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
    Traffic: X, parameters and results once.
    Source:  ai.onnx.ml SVMClassifier-1; column count of ONNX Runtime svmclassifier.cc.
    """

    mnemonic = "svm_classifier"
    onnx = "ai.onnx.ml::SVMClassifier"
    classes: Natural = 0
    label: DType = DType.I64
    has_probabilities: bool = False

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add parameters, type of labels, and numbers of labels and support vectors."""
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


THRESHOLDS = "nodes_values nodes_values_as_tensor"
BASE = "base_values base_values_as_tensor"


@frozen
class TreeEnsemble(Model):
    """Values of the leaves that each row reaches, aggregated over trees.

    Shapes:  X[n, c] -> [n, n_targets], of the type of X.
    Work:    {alu} with s comparisons and additions of leaf values: the mean over leaves, weighted
             by nodes_hitrates if they differ, exact if paths are equally long; on shortest paths
             for lower bounds, or if some path is unknown or tests membership. {sfu}: transforms
             of scores, and divisions for means.
    Traffic: X and result once, a threshold or leaf value for each step on shortest paths, at most
             all; features and children of nodes are not counted.
    Source:  ai.onnx.ml TreeEnsemble-5.
    """

    mnemonic = "tree_ensemble"
    onnx = "ai.onnx.ml::TreeEnsemble"
    formulas = {"alu": "n*s", "sfu": "t"}
    stores = {"parameters": "nodes_splits leaf_weights membership_values"}
    is_choosing = True
    n_targets: Natural = 1
    steps: Natural = 0
    least_steps: Natural = 0
    most_steps: Natural | None = None
    post_transform: int | str = 0
    aggregate_function: int | str = 1

    leaf: ClassVar[str] = ""
    """Start of the names of the lists of leaf values; "" if leaves have lists of their own."""

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add the parameters and the steps on paths through the trees."""
        trees = forest(attrs, cls.leaf) if cls.leaf else forest_of_branches(attrs)
        paths = Paths(most=None) if trees is None else trees.paths()
        attributes, modes = super().adapt(attrs, version), attrs.get("nodes_modes")
        stored, padding = attributes["parameters"], 0
        if isinstance(modes, tuple):
            padding = modes.count("LEAF")  # leaves have no threshold, but a number in its list
        if isinstance(stored, TensorType) and isinstance(stored.numel, int):
            numbers = max(stored.numel - padding, 0)
            attributes["parameters"] = replace(stored, shape=(numbers,))
        if attrs.get("membership_values"):
            # how many members a test of membership compares depends on the data
            paths = Paths(paths.least, paths.least, None)
        steps = {"steps": paths.expected, "least_steps": paths.least, "most_steps": paths.most}
        return {**attributes, **steps}

    def infer(self, ins: Inputs) -> Types:
        dtype = tensor(ins, 0).dtype
        return single(dtype, self.scored(ins, self.n_targets).shape)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        per_score = (self.post_transform not in (0, "NONE")) + (
            self.aggregate_function in (0, "AVERAGE")
        )
        return {"n": self.rows(ins), "s": self.steps, "t": count(outs[-1]) * per_score}

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        mean = super().work(ins, outs)
        if mean is None or self.least_steps == self.most_steps:
            return mean
        least_alu = self.rows(ins) * self.least_steps
        return replace(mean, least_alu=least_alu, is_bound=self.most_steps is None)

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        whole = each_once(ins, outs)
        return replace(whole, read_bytes=dim_sum(self.read_parts(ins).values()))

    def read_parts(self, ins: Inputs) -> Parts:
        taken = self.rows(ins) * self.least_steps
        return parts_once(ins, {1: rows_read(tensor(ins, 1), taken)})


@frozen
class TreeEnsembleRegressor(TreeEnsemble):
    """Regression by trees.

    Shapes:  X[n, c] -> f32[n, n_targets].
    Work:    as TreeEnsemble.
    Traffic: as TreeEnsemble.
    Source:  ai.onnx.ml TreeEnsembleRegressor-5.
    """

    mnemonic = "tree_ensemble_regressor"
    onnx = "ai.onnx.ml::TreeEnsembleRegressor"
    leaf = "target"
    stores = {"parameters": f"{THRESHOLDS} target_weights target_weights_as_tensor {BASE}"}
    post_transform: int | str = "NONE"
    aggregate_function: int | str = "SUM"

    def infer(self, ins: Inputs) -> Types:
        return (self.scored(ins, self.n_targets),)


@frozen
class TreeEnsembleClassifier(TreeEnsemble):
    """Labels and scores by trees.

    Shapes:  X[n, c] -> labels[n], f32[n, classes].
    Work:    as TreeEnsemble.
    Traffic: as TreeEnsemble.
    Source:  ai.onnx.ml TreeEnsembleClassifier-5.
    """

    mnemonic = "tree_ensemble_classifier"
    onnx = "ai.onnx.ml::TreeEnsembleClassifier"
    leaf = "class"
    stores = {"parameters": f"{THRESHOLDS} class_weights class_weights_as_tensor {BASE}"}
    post_transform: int | str = "NONE"
    classes: Natural = 0
    label: DType = DType.I64

    @classmethod
    def adapt(cls, attrs: Attributes, version: int) -> Attributes:
        """Add parameters, steps, and type and number of labels."""
        return {**super().adapt(attrs, version), **_labels(attrs)}

    def infer(self, ins: Inputs) -> Types:
        scores = self.scored(ins, self.classes)
        return self.labelled(scores, self.label), scores
