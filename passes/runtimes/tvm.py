"""TVM's Relax: chains of operators that lead to one result are one generated kernel."""

from . import LaunchMode, Runtime

TABLE = Runtime(
    name="tvm",
    title="TVM (Relax), default pipeline",
    launch=LaunchMode.EAGER,
    patterns=("post_dominators",),
    max_nodes=256,
    formats=frozenset({"relax", "tvm"}),
    trains=False,
    aliases=("relax",),
    source="tvm.relax.backend, legalize_passes: FuseOps by post-dominators; compared with the "
    "functions it makes by benchmarks/fusion_check.py",
)
