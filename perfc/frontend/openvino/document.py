"""Layers of an OpenVINO document; the file of weights is read only for small constants."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from xml.etree import ElementTree

from perfc.errors import ModelError, reason_of
from perfc.ir import mutable, record

from ..lowering.builder import Meta
from ..lowering.elements import element_type, is_small
from ..source import open_file, unreadable

MOST_BYTES = 1 << 25
"""Maximum bytes of a document; a layer takes about 1 KiB in it, and 10 KiB in memory."""
DEEPEST = 200
"""Maximum nesting of elements; a graph within a graph adds a few levels."""
Port = tuple[int, int]
"""Layer and port of a value."""


@record
class Output:
    """Result of a layer.

    Args:
        port: number of its port.
        name: name of its tensor; empty without one.
        meta: element type and extents; an unknown extent is None.
    """

    port: int
    name: str
    meta: Meta


@mutable
class NetLayer:
    """One layer.

    Args:
        index: number of the layer in its graph.
        name: name of the layer.
        kind: operator.
        data: attributes, as text.
        inputs: numbers of the ports of its operands, in order.
        outputs: its results.
        element: its element in the document, with the graphs of control flow.
    """

    index: int
    name: str
    kind: str
    data: Mapping[str, str]
    inputs: list[int]
    outputs: list[Output]
    element: ElementTree.Element


@mutable
class LayerGraph:
    """Layers and edges of a graph.

    Args:
        layers: layers by number, in the order of the document.
        edges: port that each operand comes from, by port of the operand.
        readers: numbers of the layers that read each value, by port of the value.
    """

    layers: dict[int, NetLayer]
    edges: dict[Port, Port]
    readers: dict[Port, list[int]] = field(default_factory=dict)


class _Bounded(ElementTree.TreeBuilder):
    """Builder of a tree of limited depth, without type declarations, which expand without limit."""

    depth = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Refuse a type declaration.

        Raises:
            ModelError: always.
        """
        raise ModelError("XML with a type declaration", hint="OpenVINO writes none")

    def start(self, tag: str, attrs: dict[Any, Any], /) -> ElementTree.Element:
        """Open an element.

        Raises:
            ModelError: nested too deep.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise ModelError(f"elements nested deeper than {DEEPEST}")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ElementTree.Element:
        """Close an element."""
        self.depth -= 1
        return super().end(tag)


def read_document(model: str | bytes, where: str) -> tuple[ElementTree.Element, bytes]:
    """Return the outermost element of a document, and its bytes.

    Raises:
        ModelError: the document is damaged, too large, or another XML document.
    """
    if isinstance(model, bytes):
        data = model
    else:
        with open_file(model, where) as file:
            try:
                # one byte more than is allowed shows that there is more
                data = file.read(MOST_BYTES + 1)
            except OSError as error:
                raise unreadable(error, where) from None
    if len(data) > MOST_BYTES:
        raise ModelError(f"a document of more than {MOST_BYTES >> 20} MiB", where=where)
    # limits are checked while the tree is built, not after
    parser = ElementTree.XMLParser(target=_Bounded())
    try:
        parser.feed(data)
        root = parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        what = f"damaged XML: {reason_of(error)}"
        raise ModelError(what, hint="it was cut short? Save it again", where=where) from None
    if not isinstance(root, ElementTree.Element) or root.tag != "net":
        hint = "give the .xml file that openvino.save_model wrote"
        raise ModelError("XML, but not a model of OpenVINO", hint=hint, where=where)
    return root, data


def network_of(element: ElementTree.Element) -> LayerGraph:
    """Return the layers and edges of a graph.

    Raises:
        LookupError, ValueError, TypeError, AttributeError: it does not follow the schema.
    """
    layers = {}
    for child in element.iterfind("layers/layer"):
        data = child.find("data")
        layer = NetLayer(
            int(child.attrib["id"]),
            child.attrib.get("name", ""),
            child.attrib["type"],
            {} if data is None else data.attrib,
            [int(p.attrib["id"]) for p in child.iterfind("input/port")],
            [_output(p) for p in child.iterfind("output/port")],
            child,
        )
        layers[layer.index] = layer
    edges, readers = {}, dict[Port, list[int]]()
    for edge in element.iterfind("edges/edge"):
        source, target = (
            (int(edge.attrib[f"{end}-layer"]), int(edge.attrib[f"{end}-port"]))
            for end in ("from", "to")
        )
        # an operand has one source, a value any number of readers
        edges[target] = source
        readers.setdefault(source, []).append(target[0])
    return LayerGraph(layers, edges, readers)


def _output(port: ElementTree.Element) -> Output:
    """Return a result from its port; an extent of -1 is unknown."""
    sizes = tuple(int(d.text or "") for d in port.iterfind("dim"))
    dtype = element_type(port.attrib.get("precision", ""))
    # a result may have several names
    name = port.attrib.get("names", "").partition(",")[0]
    meta = Meta(dtype, tuple(s if s >= 0 else None for s in sizes))
    return Output(int(port.attrib["id"]), name, meta)


@record
class Elements:
    """File of weights next to a document.

    Args:
        path: its path; empty for a document given as bytes.
    """

    path: str

    def read(self, data: Mapping[str, str], meta: Meta) -> bytes | None:
        """Return the elements of a small constant; None for others, or without the file."""
        offset, nbytes = int(data.get("offset", 0)), int(data.get("size", 0))
        if not self.path or offset < 0 or not is_small(meta.dtype, meta.count, nbytes):
            return None
        try:
            with open_file(self.path, self.path) as file:
                content = os.pread(file.fileno(), nbytes, offset)
        # without the file of weights, the model is read with unknown small constants
        except (ModelError, OSError, OverflowError):
            return None
        return content if len(content) == nbytes else None
