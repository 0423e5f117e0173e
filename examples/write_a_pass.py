"""Write an analysis and a transform of your own, and run them on ResNet-50.

    python examples/write_a_pass.py

The analysis lists convolutions and products whose contracted extent is no multiple of 8, which
tensor cores want. The transform folds batch normalisation into the convolution before it, as
inference runtimes do. Prints what is misaligned, and kernels and time of an eager run before and
after folding.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from perfc.api import typed
from perfc.ir.graph import Module, Node, walk
from perfc.ir.graphs.rewrite import Rewriter, with_graph
from perfc.ir.op import Kind
from perfc.ir.record import frozen
from perfc.ir.symbolic.dim import Dim
from perfc.passes import Analysis, Transform
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost
from perfc.passes.roofline.roofline import Roofline

MODEL = Path(__file__).parent / "models" / "resnet50.onnx.gz"


@frozen
class Misaligned(Analysis[dict[Node, Dim]]):
    """Convolutions and products, and their contracted extent where it is no multiple."""

    requires: ClassVar = (Cost,)
    multiple: int = 8

    def run(self, module: Module, am: Analyses) -> dict[Node, Dim]:
        """The contracted extent of every such node: what one result takes in mac."""
        cost = am.get(Cost(), module)
        found: dict[Node, Dim] = {}
        for node in walk(module.graph):
            if node.op.kind not in (Kind.CONV, Kind.MATMUL):
                continue
            outs = tuple(v.type for v in node.results)
            letters = node.op.extents(node.inputs, outs)
            results: Dim = 1
            for letter in "nkpq" if node.op.kind is Kind.CONV else "bmn":
                results = results * letters.get(letter, 1)
            contracted = cost.nodes[node].work.mac // results
            if contracted % self.multiple != 0:
                found[node] = contracted
        return found


@frozen
class FoldNormalization(Transform):
    """Batch normalisation becomes part of the weights of the convolution that feeds it."""

    def run(self, module: Module, am: Analyses) -> Module:
        """The module without normalisations that follow a convolution nobody else reads."""
        graph = module.graph
        rewriter = Rewriter(graph)
        for node in graph.nodes:
            source = node.inputs[0] if node.inputs else None
            if node.op.mnemonic != "batch_norm" or source is None:
                continue
            maker = graph.producers.get(source)
            if maker and maker.op.kind is Kind.CONV and len(graph.users[source]) == 1:
                rewriter.replace_uses(node.results[0], source)
                rewriter.erase(node)
        return with_graph(module, rewriter.result())


def main() -> None:
    """Run the analysis, then the transform, and compare."""
    am = Analyses()
    module = typed(MODEL, {"batch": 8}, am=am)
    for node, extent in am.get(Misaligned(), module).items():
        print(f"{node.name}: contracts {extent}, no multiple of 8")
    for title, version in (("as it is", module), ("folded", am.apply(FoldNormalization(), module))):
        roofline = am.get(Roofline("a100", runtime="eager"), version)
        print(
            f"{title:9} {len(version.graph.nodes):4} nodes {len(roofline.kernels):4} kernels"
            f" {roofline.time_s * 1e3:6.2f} ms"
        )


if __name__ == "__main__":
    main()
