"""A framework that runs operator by operator: one launch a node, views free."""

from . import Launch, Runtime

TABLE = Runtime(
    name="eager",
    title="operator by operator, as an eager framework runs",
    launch=Launch.EAGER,
    patterns=("activation", "layer_norm", "attention"),
    source="PyTorch eager: one kernel an aten operator; exporters split GELU, LayerNorm and SDPA, "
    "which eager runs as single operators",
)
