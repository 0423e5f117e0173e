"""Provenance of a node: the path of its module in the program, and the lines that call it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

DYNAMO = "pkg.torch.onnx."
"""Prefix of the metadata that `torch.onnx.export` writes for a node.
Source: torch/onnx/_internal/exporter."""
SCOPES = f"{DYNAMO}name_scopes"
"""Key of the paths of the modules around a node, and of the name of its call in the program."""
REWRITTEN = "pkg.onnxscript.rewriter.rule_name"
"""Key of nodes that a rewriting made, whose module is that of the last node it replaced."""
MERGED = {"Conv": "conv{}d", "ConvTranspose": "conv_transpose{}d", "Gemm": "linear"}
"""Functions of the layers that a rewriting merges others into, by number of spatial axes."""
FRAME = re.compile(r'"([^"\n]*)"(?:, line |:(?=\d+:\d))(\d+)')
"""File and line of a frame of a stack trace, or of a location of MLIR."""
SCRIPT_FRAME = re.compile(r"^([^\n]+)\((\d+)\): ", re.MULTILINE)
"""File and line of a frame as TorchScript writes them, innermost first."""
CALL = re.compile(r"(?<=\w)_+\d*$")
"""End of the name of a call that PyTorch numbers, or of a function that works in place."""
SCOPE = re.compile(r"'([^']*)'")
"""Names in the list that torch.onnx writes as text: ``['', 'encoder', 'encoder.layer']``."""
FOREIGN = re.compile(
    r"/torch/(nn|_\w+|functional|utils|export)\b|/perfc/frontend/\w+/(export|worker)\.py|^<"
    r"|-packages/(torch|jax|flax)/|^runpy\.py|/runpy\.py|^-$"
)
"""Source files of PyTorch, JAX and perfc, and code without a file."""
MOST_FRAMES = 24
"""Maximum frames of a call, the innermost ones: recursive programs have any number."""


def place_of(
    metadata: Mapping[str, str],
    name: str,
    root: str,
    parameter: str = "",
    merged: str = "",
) -> tuple[str, tuple[str, ...]]:
    """Return the name of a node with the path of its module, and the lines that call it.

    Args:
        metadata: metadata of a node of an exported program, or of an ONNX file written from one.
        name: name of the node.
        root: folder to which paths of files are relative.
        parameter: name of a parameter that the node reads; empty for none.
        merged: name for a node into which a rewriting merged the nodes of another module.

    Returns:
        The name, and ``file:line`` of each frame outside of PyTorch, outermost first.

    >>> place_of({"nn_module_stack": "a,,R;b,layer1.0,B", "stack_trace": ""}, "relu", "")
    ('layer1/0/relu', ())
    >>> place_of({SCOPES: "['', 'a', 'a.0', 'conv2d_1']"}, "node_Conv_3", "")
    ('a/0/conv2d_1', ())
    """
    module = ""
    if scopes := SCOPE.findall(metadata.get(SCOPES, "")):
        *modules, name = scopes
        module, owner = modules[-1] if modules else "", parameter.rpartition(".")[0]
        # a rewritten node has the scopes of the last node that it replaced, but the module whose
        # parameter it reads did the work
        if REWRITTEN in metadata and owner and owner != module:
            module, name = owner, merged
    elif stack := str(metadata.get("nn_module_stack", "")):
        # the innermost module is last; @ and a number mark another call of it
        parts = stack.rpartition(";")[2].split(",")
        module = parts[1].partition("@")[0] if len(parts) > 1 else ""
    path = "/".join([p for p in (*module.split("."), name) if p])
    trace = str(metadata.get("stack_trace") or metadata.get(DYNAMO + "stack_trace", ""))
    return path, frames_of(trace, root)


def numbered(used: Counter[str], path: str) -> str:
    """Return the name of a call by its module and function, with a number from the second on.

    PyTorch numbers the calls of the whole program: a further call would rename all calls after it.
    Numbers within a module and function stay.

    >>> used = Counter[str]()
    >>> [numbered(used, call) for call in ("a/relu_", "b/relu__1", "b/relu_2", "b/conv2d_7")]
    ['a/relu', 'b/relu', 'b/relu_1', 'b/conv2d']
    """
    plain = CALL.sub("", path) or path
    used[plain] += 1
    return plain if used[plain] == 1 else f"{plain}_{used[plain] - 1}"


def of_scopes(name: str) -> str:
    """Return the name of a node with the path of its module, from the scopes of TorchScript.

    >>> of_scopes("/stage/stage.0/blocks.1/conv/Conv"), of_scopes("/relu/Relu_1")
    ('/stage/0/blocks/1/conv/Conv', '/relu/Relu_1')
    """
    if not name.startswith("/") or "." not in name:
        return name
    parts = name.split("/")
    return "/".join([b.removeprefix(f"{a}.").replace(".", "/") for a, b in pairwise(["", *parts])])


@lru_cache(1 << 12)
def frames_of(trace: str, root: str) -> tuple[str, ...]:
    """Return ``file:line`` of the frames of a stack trace that are of the program.

    >>> frames_of('File "net.py", line 3, in f; File "/x-packages/torch/a.py", line 1', "")
    ('net.py:3',)
    """
    # the innermost frames, which are last, say most
    frames = [(file_from(root, m[1]), m[2]) for m in FRAME.finditer(trace)]
    return tuple([f"{file}:{line}" for file, line in frames if file][-MOST_FRAMES:])


def frames_of_script(documentation: str, root: str) -> tuple[str, ...]:
    r"""Return the frames in the documentation of a node that TorchScript exported verbosely.

    >>> frames_of_script("/x-packages/torch/a.py(1): b\nnet.py(7): f\nrun.py(9): main\n", "")
    ('run.py:9', 'net.py:7')
    """
    calls = SCRIPT_FRAME.findall(documentation)[::-1]
    return frames_of("".join([f'"{file}", line {line}\n' for file, line in calls]), root)


@lru_cache(1 << 12)
def file_from(root: str, path: str) -> str:
    """Return the path of a source file from a folder or its package; empty for a foreign file.

    >>> file_from("/home/me", "/home/me/pkg/net.py"), file_from("/", "/v/site-packages/timm/a.py")
    ('pkg/net.py', 'timm/a.py')
    """
    posix_path = path.replace("\\", "/")
    if FOREIGN.search(posix_path):
        return ""
    inside, _, installed = posix_path.rpartition("-packages/")
    if inside:
        return installed
    return posix_path.removeprefix(f"{root.rstrip('/')}/").removeprefix("./")
