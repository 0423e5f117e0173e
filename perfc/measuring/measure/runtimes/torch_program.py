"""An exported program of PyTorch in the worker process: its operators run one by one."""

from __future__ import annotations

from typing import Any

from .torch_runtime import NodeStep, TorchRun


class ProgramRun(TorchRun):
    """A program with its tensors on a device."""

    def load(self, *, profile: bool) -> None:
        """Read the program; its tensors without values get values."""
        self.torch.manual_seed(0)
        program = self.torch.export.load(self.request["model"])
        stored = {**program.state_dict, **program.constants}
        self.is_profiled, self.events, self.values, self.graph = profile, [], {}, []
        for spec in program.graph_signature.input_specs:
            if spec.target in stored:
                self.values[spec.arg.name] = self.valued(stored[spec.target])
        for node in program.graph.nodes:
            if node.op == "get_attr":
                self.values[node.name] = getattr(program.graph_module, node.target)
            elif node.op == "call_function":
                self.graph.append(self.step_of(node))
            elif node.op == "output":
                # outputs that are no tensors, as sizes, have no shape
                given = node.all_input_nodes
                self.names = [n.name for n in given if hasattr(n.meta.get("val"), "shape")]

    def valued(self, tensor: Any) -> Any:
        """Return a tensor on the device; without values, it gets those of weights, or ones."""
        if tensor.device.type == "meta":
            tensor = self.torch.ones_like(tensor, device="cpu")
            if tensor.is_floating_point() and tensor.ndim > 1:
                # deviation of one over the root of the fan-in, which preserves the scale of
                # activations, as in `weights.role_of`
                tensor.normal_(0, tensor[0].numel() ** -0.5)
        return self.narrowed(tensor).to(self.device)

    def step_of(self, node: Any) -> NodeStep:
        """Return the step of a node, which makes its tensors on the device."""
        names = [n.name for n in node.all_input_nodes]
        # the program was exported on some device, which need not be that of the run
        here = {"device": self.device} if "device" in node.kwargs else {}

        def call(torch: Any, _: Any, *given: Any) -> tuple[Any]:
            values = dict(zip(names, given, strict=True))
            arguments = node.args, {**node.kwargs, **here}
            args, named = torch.fx.node.map_arg(arguments, lambda n: values[n.name])
            return (node.target(*args, **named),)

        op = node.target.__name__.partition(".")[0]
        return NodeStep(node.name, op, names, [node.name], call, {})

    def without_shapes(self) -> list[NodeStep]:
        """Return all steps: sizes in a program are numbers, and no steps compute them."""
        return self.graph
