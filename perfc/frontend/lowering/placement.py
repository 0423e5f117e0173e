"""Places of nodes: names by the modules of the program, where the file has them, and code lines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import field, replace

from perfc.ir.graph import Loc, Value
from perfc.ir.record import mutable

from ..reading import proto
from ..reading.provenance import MERGED, SCOPES, frames_of_script, numbered, of_scopes, place_of
from .functions import EXPANDED
from .order import label


@mutable
class Placement:
    """Places of the nodes of one model.

    Args:
        root: folder to which paths of source files are relative.
        used: number of nodes so far by name, since one call of the program may become several.
        calls: names of calls of the program by their paths in the file.
    """

    root: str = field(default_factory=lambda: os.path.realpath(os.curdir))
    used: Counter[str] = field(default_factory=Counter)
    calls: dict[str, str] = field(default_factory=dict)

    def of_call(self, source: proto.ProtoNode, function: proto.Function, prefix: str) -> Loc | None:
        """Return the location that all nodes of an expanded body have.

        None for a function of the file, whose nodes have locations themselves.
        """
        if function.domain != EXPANDED:
            return None
        return replace(self.of(replace(source, name=label(source)), prefix), is_expanded=True)

    def of(self, source: proto.ProtoNode, prefix: str, inputs: Iterable[Value | None] = ()) -> Loc:
        """Return the location of a node.

        Args:
            source: the node in the file.
            prefix: beginning of names, from the calls of functions around it.
            inputs: values that it reads.
        """
        stored, props = prefix + source.name, source.metadata_props
        # exporters without metadata write the modules into the name, and frames into doc strings
        if not props:
            name = of_scopes(stored)
            frames = frames_of_script(source.doc_string, self.root)
            in_file = stored if stored != name else ""
            return Loc(name, source.op_type, frames=frames, in_file=in_file)
        # front ends of other formats have already named the node, and list its frames
        if proto.SOURCE in props:
            frames = tuple(props[proto.SOURCE].split("\n"))
            return Loc(stored, source.op_type, frames=frames)
        parameters = [v for v in inputs if v and v.is_parameter]
        parameter = parameters[0].name if parameters else ""
        # two axes of a convolution's filters are channels, the others are spatial
        spatial = len(parameters[0].shape or ()) - 2 if parameters else 0
        # a rewriting merges layers into these operators without their names
        merged = MERGED.get(source.op_type, source.op_type).format(spatial)
        path, frames = place_of(props, source.name, self.root, parameter, merged)
        raw = prefix + path
        # further nodes of one call of the program get the operator as a suffix
        if raw in self.calls:
            name = f"{self.calls[raw]}.{source.op_type}"
            self.used[name] += 1
            if (count := self.used[name]) > 1:
                name = f"{name}.{count}"
        else:
            name = self.calls[raw] = numbered(self.used, raw) if SCOPES in props else raw
        in_file = stored if stored != name else ""
        return Loc(name, source.op_type, frames=frames, in_file=in_file)
