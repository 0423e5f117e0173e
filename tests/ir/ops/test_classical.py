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
from perfc.ir.ops.classical.classical_models import fewest_comparisons
from perfc.ir.ops.training.optimizer import Adam, Gradient, Momentum
from perfc.ir.symbolic.dim import Dim, symbol
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


def test_a_tree_costs_at_least_its_shortest_way() -> None:
    assert fewest_comparisons([(1, 2), (), (3, 4), (), ()]) == 1
    assert fewest_comparisons([(1, 2), (3, 4), (5, 6), (), (), (), ()]) == 2
    assert fewest_comparisons([(1, 0)]) == 0
    op = make("TreeEnsembleRegressor", n_targets=2, **TREE)
    ins = (of(DType.F64, N, 4),)
    assert op.infer(ins)[0] == TensorType(DType.F32, (N, 2))
    assert op.work(ins, op.infer(ins)) == Work(alu=N, is_bound=True)


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


def test_an_optimiser_returns_tensors_and_states() -> None:
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
    ("children", "least"),
    [
        ([()], 0),
        ([(1, 2), (), ()], 1),
        ([(1, 2), (3, 4), (5, 6), (), (), (), ()], 2),
        ([(1, 2), (), (3, 4), (), (), (6, 7), (), ()], 2),
        # a leaf below two nodes is as near as the nearer of them
        ([(1, 2), (2,), ()], 1),
        # a circle, and a child that is no node, end nowhere
        ([(1,), (2,), (1,)], 0),
        ([(9,)], 0),
    ],
)
def test_the_shortest_way_down_every_tree(children: list[tuple[int, ...]], least: int) -> None:
    assert fewest_comparisons(children) == least
