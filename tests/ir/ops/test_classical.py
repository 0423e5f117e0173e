"""Classical machine learning and training operators."""

from __future__ import annotations

from typing import Any

import pytest

from perfc.frontend.lowering.attributes import build
from perfc.ir.cost import Work
from perfc.ir.graph import Value
from perfc.ir.op import Op
from perfc.ir.ops import operator_for
from perfc.ir.ops.classical.classical import ArrayFeatureExtractor, DictVectorizer
from perfc.ir.ops.classical.trees import Ensemble, Paths
from perfc.ir.ops.training.optimizer import Adam, Gradient, Momentum
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import DType, MapType, SequenceType, TensorType

N = symbol("N")
TREE = {
    "nodes_treeids": (0, 0, 0, 1),
    "nodes_nodeids": (0, 1, 2, 0),
    "nodes_truenodeids": (1, 0, 0, 0),
    "nodes_falsenodeids": (2, 0, 0, 0),
    "nodes_modes": ("BRANCH_LEQ", "LEAF", "LEAF", "LEAF"),
}


def of(dtype: DType, *shape: Dim) -> Value:
    return Value("x", TensorType(dtype, shape))


def make(name: str, **attrs: Any) -> Op:
    cls = operator_for("ai.onnx.ml", name)
    assert cls is not None
    return build(cls, attrs, 3, 1).op


def test_a_linear_classifier_scores_every_class() -> None:
    op = make("LinearClassifier", coefficients=(0.1,) * 12, classlabels_strings=("a", "b", "c"))
    ins = (of(DType.F32, N, 4),)
    outs = op.infer(ins)
    assert outs == (TensorType(DType.STR, (N,)), TensorType(DType.F32, (N, 3)))
    assert op.work(ins, outs) == Work(mac=N * 12, dtype=DType.F32)


def test_a_vector_is_one_row() -> None:
    op = make("LinearRegressor", coefficients=(0.1,) * 8, targets=2)
    assert op.infer((of(DType.F32, 4),))[0] == TensorType(DType.F32, (1, 2))
    extracted = ArrayFeatureExtractor().infer((of(DType.F32, 4), of(DType.I64, 1, 2)))
    assert extracted[0] == TensorType(DType.F32, (1, 2))


def test_votes_of_support_vectors_are_pairs_of_classes() -> None:
    def columns(classes: int, **attrs: Any) -> Dim:
        labels = tuple(range(classes))
        op = make("SVMClassifier", classlabels_ints=labels, **attrs)
        scores = op.infer((of(DType.F32, N, 4),))[1]
        assert isinstance(scores, TensorType)
        assert scores.shape is not None
        return scores.shape[1]

    vectors = {"vectors_per_class": (1, 1, 1, 1), "support_vectors": (0.1,) * 16}
    assert columns(4, **vectors) == 6
    assert columns(4, **vectors, prob_a=(0.1,) * 6) == 4
    assert columns(4) == 4
    assert columns(2, vectors_per_class=(1, 1)) == 2


def test_a_tree_costs_its_comparisons_and_what_its_leaf_adds() -> None:
    leaves = {"target_treeids": (0, 0, 0, 1), "target_nodeids": (1, 2, 2, 0)}
    op = make("TreeEnsembleRegressor", n_targets=2, **TREE, **leaves)
    ins = (of(DType.F64, N, 4),)
    assert op.infer(ins)[0] == TensorType(DType.F32, (N, 2))
    # one leaf of the first tree adds one value, the other two; the second tree is a leaf
    assert op.work(ins, op.infer(ins)) == Work(alu=4 * N, least_alu=3 * N)
    sure = make("TreeEnsembleRegressor", **TREE, target_treeids=(0, 0), target_nodeids=(1, 2))
    assert sure.work(ins, sure.infer(ins)) == Work(alu=2 * N)


def test_rates_of_nodes_weight_their_paths() -> None:
    tree = {
        "nodes_treeids": (0,) * 5,
        "nodes_nodeids": (0, 1, 2, 3, 4),
        "nodes_truenodeids": (1, 0, 3, 0, 0),
        "nodes_falsenodeids": (2, 0, 4, 0, 0),
        "nodes_modes": ("BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"),
    }

    def steps(*rates: float) -> tuple[Dim, Dim]:
        op = make("TreeEnsembleClassifier", **tree, nodes_hitrates=rates)
        work = op.work((of(DType.F32, 300, 4),), op.infer((of(DType.F32, 300, 4),)))
        assert work is not None
        return work.alu // 300, work.floor_alu // 300

    # leaves at depths 1, 2 and 2: rounded means of 5/3, of 1.1, and again of 5/3
    assert steps(1.0, 1.0, 1.0, 1.0, 1.0) == (2, 1)
    assert steps(100.0, 90.0, 10.0, 5.0, 5.0) == (1, 1)
    assert steps(1.0, 0.0, 0.0, 0.0, 0.0) == (2, 1)


def test_leaves_may_have_lists_of_their_own() -> None:
    """The root's yes is a leaf; its no a branch with two leaves (ai.onnx.ml TreeEnsemble-5)."""
    tree = {
        "tree_roots": (0,),
        "nodes_trueleafs": (1, 1),
        "nodes_truenodeids": (0, 1),
        "nodes_falseleafs": (0, 1),
        "nodes_falsenodeids": (1, 2),
        "leaf_targetids": (0, 0, 0),
    }
    ins = (of(DType.F32, N, 4),)
    op = make("TreeEnsemble", **tree, aggregate_function=0, post_transform=2)
    assert op.work(ins, op.infer(ins)) == Work(alu=3 * N, sfu=2 * N, least_alu=2 * N)
    members = make("TreeEnsemble", **tree, membership_values=(1.0, 2.0))
    assert members.work(ins, members.infer(ins)) == Work(alu=2 * N, least_alu=2 * N, is_bound=True)
    damaged = make("TreeEnsemble", **{**tree, "nodes_falsenodeids": (0, 2)})
    work = damaged.work(ins, damaged.infer(ins))
    assert work is not None
    assert work.is_bound


@pytest.mark.parametrize(
    ("name", "attrs", "stored"),
    [
        ("LinearRegressor", {"coefficients": (0.5,) * 8, "intercepts": (1.0, 2.0)}, ["f32[10]"]),
        ("LinearClassifier", {"coefficients": (0.5,) * 8, "classlabels_ints": (0, 1)}, ["f32[8]"]),
        (
            "SVMClassifier",
            {
                "coefficients": (0.5,) * 3,
                "support_vectors": (0.5,) * 6,
                "rho": (0.1,),
                "prob_a": (0.1,),
                "prob_b": (0.1,),
                "kernel_params": (0.1, 0.0, 3.0),
                "vectors_per_class": (1, 2),
            },
            ["f32[12]"],
        ),
        ("Scaler", {"offset": (0.5,) * 4, "scale": (2.0,) * 4}, ["f32[8]"]),
        ("Imputer", {"imputed_value_int64s": (1, 2, 3)}, ["i64[3]"]),
        ("Normalizer", {"norm": "L2"}, []),
        ("Binarizer", {"threshold": 0.5}, []),
        (
            "LabelEncoder",
            {"keys_int64s": (1, 2, 3), "values_floats": (0.5, 0.6, 0.7)},
            ["i64[3]", "f32[3]"],
        ),
        ("LabelEncoder", {"classes_strings": ("a", "b")}, ["str[2]"]),
        (
            "CategoryMapper",
            {"cats_int64s": (1, 2), "cats_strings": ("a", "b")},
            ["str[2]", "i64[2]"],
        ),
        ("OneHotEncoder", {"cats_int64s": (1, 2, 3)}, ["i64[3]"]),
        ("DictVectorizer", {"int64_vocabulary": (1, 2, 3)}, ["i64[3]"]),
        # thresholds of branches alone, and all leaf values
        (
            "TreeEnsembleRegressor",
            {**TREE, "nodes_values": (0.5, 0.0, 0.0, 0.0), "target_weights": (1.0, 2.0, 3.0)},
            ["f32[4]"],
        ),
        ("TreeEnsembleClassifier", {"class_weights": (1.0,), "base_values": (0.1,)}, ["f32[2]"]),
    ],
)
def test_numbers_in_attributes_are_stored_operands(
    name: str, attrs: dict[str, Any], stored: list[str]
) -> None:
    cls = operator_for("ai.onnx.ml", name)
    assert cls is not None
    built = build(cls, attrs, 3, 1)
    assert [str(content.type) for _, content in built.extra_inputs] == stored


def test_rows_read_of_trees_and_tables_what_they_need() -> None:
    tree = {**TREE, "target_treeids": (0, 0, 1), "target_nodeids": (1, 2, 0)}
    op = make("TreeEnsembleRegressor", **tree)
    x, trees = of(DType.F32, N, 4), Value("trees", TensorType(DType.F32, (100,)))
    read = op.traffic((x, trees), op.infer((x, trees))).read_bytes
    # a comparison and two leaf values for each row, at most all numbers
    assert [evaluate(read, {"N": n}) for n in (1, 10, 1000)] == [28, 280, 16_400]
    encoder = make("LabelEncoder", keys_int64s=(1, 2), values_int64s=(3, 4))
    keys, values = (Value(name, TensorType(DType.I64, (1000,))) for name in "kv")
    words = (of(DType.I64, N), keys, values)
    read = encoder.traffic(words, encoder.infer(words)).read_bytes
    assert [evaluate(read, {"N": n}) for n in (1, 2000)] == [24, 32_000]


def test_encoders_take_the_type_of_their_values() -> None:
    x = of(DType.I64, N)
    floats = make("LabelEncoder", keys_int64s=(1,), values_floats=(0.5,))
    assert floats.infer((x,))[0] == TensorType(DType.F32, (N,))
    assert make("LabelEncoder").infer((x,))[0] == TensorType(DType.STR, (N,))
    one_hot = make("OneHotEncoder", cats_int64s=(1, 2, 3))
    assert one_hot.infer((x,))[0] == TensorType(DType.F32, (N, 3))


def test_maps_go_in_and_out() -> None:
    zipped = make("ZipMap", classlabels_strings=("a", "b")).infer((of(DType.F32, N, 2),))[0]
    assert zipped == SequenceType(MapType(DType.STR, TensorType(DType.F32, ())), N)
    traffic = make("ZipMap").traffic((of(DType.F32, N, 2),), (zipped,))
    assert (traffic.read_bytes, traffic.write_bytes, traffic.is_bound) == (8 * N, 8 * N, False)
    given = Value("m", MapType(DType.STR, TensorType(DType.I64, ())))
    assert DictVectorizer(vocabulary=3).infer((given,))[0] == TensorType(DType.I64, (1, 3))


def test_an_optimizer_returns_tensors_and_states() -> None:
    a, b = of(DType.F32, 10), of(DType.F32, N)
    one = of(DType.F32)
    ins = (one, one, a, b, a, b, a, b)
    assert Momentum().infer(ins) == (a.type, b.type, a.type, b.type)
    assert Momentum().work(ins, ()) == Work(alu=(N + 10) * 7)
    assert Adam().infer((one, one, a, a, a, a)) == (a.type,) * 3


def test_a_gradient_has_the_shape_of_what_it_is_for_and_no_known_work() -> None:
    op = Gradient(xs=("p", "q"), y="y")
    ins = (of(DType.F32, 3), of(DType.F32, N), of(DType.F32, 5))
    assert op.infer(ins) == (TensorType(DType.F32, (3,)), TensorType(DType.F32, (N,)))
    assert op.work(ins, ()) is None


@pytest.mark.parametrize(
    ("children", "paths"),
    [
        ([()], Paths(0, 0, 0)),
        ([(1, 2), (), ()], Paths(1, 1, 1)),
        ([(1, 2), (3, 4), (5, 6), (), (), (), ()], Paths(2, 2, 2)),
        # leaves at depths 1 and 2, 2; 2, 2, and 2, 3, 3
        ([(1, 2), (), (3, 4), (), ()], Paths(2, 1, 2)),
        ([(1, 2), (3, 4), (5, 6), (), (), (), (7, 8), (), ()], Paths(2, 2, 3)),
        # a leaf below two nodes is reached by either
        ([(1, 2), (2, 2), ()], Paths(2, 1, 2)),
        # a circle, a child that is no node, a node below two others, no node at all
        ([(1,), (2,), (1,)], Paths(0, 0, None)),
        ([(9,)], Paths(0, 0, None)),
        ([(1, 2), (3, 4), (3, 4), (), ()], Paths(2, 2, 2)),
        ([(1, 2), (2, 3), (3, 4), (), ()], Paths(2, 2, None)),
        ([], Paths(0, 0, None)),
    ],
)
def test_the_paths_down_every_tree(children: list[tuple[int, ...]], paths: Paths) -> None:
    roots = sorted(set(range(len(children))).difference(*children))
    assert Ensemble(children, roots, [0] * len(children)).paths() == paths
