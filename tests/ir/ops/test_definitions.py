"""Requirements of operators on their operands, against the definitions of ONNX."""

from __future__ import annotations

import onnx
import pytest

from perfc.ir.definition import arity_problem, range_problem
from perfc.ir.op import Op
from perfc.ir.ops import load_all, operator_for
from perfc.ir.ops.convolution.conv import Conv
from perfc.ir.ops.movement.movement import UnfoldTensor

OPTIONAL = onnx.defs.OpSchema.FormalParameterOption.Optional
SCHEMAS = [s for s in onnx.defs.get_all_schemas_with_history() if operator_for(s.domain, s.name)]


def test_no_operand_is_required_that_some_version_leaves_out() -> None:
    demanded = []
    for schema in SCHEMAS:
        cls = operator_for(schema.domain, schema.name)
        assert cls is not None
        optional = {i for i, given in enumerate(schema.inputs) if given.option == OPTIONAL}
        demanded += [
            (schema.name, schema.since_version, i) for i in optional & {*cls.signature.required}
        ]
    assert len(SCHEMAS) > 500
    assert demanded == []


def test_as_many_operands_are_taken_as_a_version_has() -> None:
    refused = [
        (schema.name, schema.since_version)
        for schema in SCHEMAS
        # Tile-1 had its repeats and its axis as two inputs
        if (schema.name, schema.since_version) != ("Tile", 1)
        and (cls := operator_for(schema.domain, schema.name)) is not None
        and len(schema.inputs) > len(cls.signature.names)
        and not cls.signature.repeats
    ]
    assert refused == []


@pytest.mark.parametrize("cls", load_all().values(), ids=lambda cls: cls.mnemonic)
def test_nodes_without_operands_or_results_are_named(cls: type[Op]) -> None:
    required = cls.signature.required
    without = arity_problem(cls, (), 1)
    assert without == (
        f"input {cls.signature.names[required[0]]} ({required[0]}) is missing" if required else ""
    )
    if cls.least_results and not required:
        assert arity_problem(cls, (), 0) == "it has no outputs"


@pytest.mark.parametrize("cls", load_all().values(), ids=lambda cls: cls.mnemonic)
def test_an_operand_too_many_is_named_and_one_that_is_missing(cls: type[Op]) -> None:
    most, least = len(cls.signature.names), cls.least_results
    values = [object() for _ in range(most + 1)]
    of_onnx = [n for n in cls.onnx.split() if not n.startswith("com.")]
    is_refused = not cls.signature.repeats and (of_onnx or not cls.onnx)
    said = f"{most + 1} inputs, at most {most} are defined" if is_refused else ""
    assert arity_problem(cls, values, least) == said
    assert arity_problem(cls, [*values[:-1], None], least) == ""
    assert arity_problem(cls, values[:-1], least) == ""
    for i, name in enumerate(cls.signature.names):
        without = [None if i == j else v for j, v in enumerate(values[:-1])]
        is_needed = i in cls.signature.required
        assert arity_problem(cls, without, least) == (
            f"input {name} ({i}) is missing" if is_needed else ""
        )


@pytest.mark.parametrize(
    ("name", "is_closed"),
    [
        ("relu", True),
        ("matmul", True),
        ("gelu", True),
        ("max_pool", True),
        ("qlinear_conv", True),
        ("trilu", True),
        ("fast_gelu", False),
        ("bias_add", False),
        ("nhwc_max_pool", False),
        ("fused_matmul", False),
        ("moe", False),
    ],
)
def test_an_operator_that_the_standard_has_too_takes_no_more(name: str, is_closed: bool) -> None:
    assert load_all()[name].is_closed is is_closed


def test_attributes_outside_their_range_are_named() -> None:
    with pytest.raises(ValueError, match="strides holds 0, not at least 1"):
        Conv(strides=(2, 0))
    with pytest.raises(ValueError, match="strides has 65537 entries"):
        Conv(strides=(1,) * 65537)
    with pytest.raises(ValueError, match="size is -1, not at least 1"):
        UnfoldTensor(size=-1)
    assert range_problem(Conv(strides=(2, 1))) == ""
