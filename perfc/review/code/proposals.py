"""Propose edits of a PyTorch module's code that may save time, as patches.

Each edit takes the text of a source and the name of the model's class and returns the new text,
unchanged where it does not apply. Regular expressions keep layout and comments of the code.
Nothing here writes to a source; `perfc.review.diff.priced` prices the patches.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from perfc.frontend.reading.module_name import NamedModule
from perfc.ir import record
from perfc.passes.runtimes import Steps, of_steps

from .imports import content, folder_of, parsed, sources_of

METHOD = r"(?ms)^(class {}\b(?:(?!^class ).)*?^( +))(def {}\(self(?:, (\w+))?(?:, )?[^\n]*?:\n)"
"""A method of a class: the class up to it, its indentation, its head, its first parameter.

``(?:(?!^class ).)*?`` is as little text as possible without the head of another class.
"""
DOCSTRING = r'(\s*(?:"""|\'\'\').*?(?:"""|\'\'\')\n)?'
"""An optional docstring."""
LAST = r"(?ms)^class {}\b(?:(?!^class ).)*?^( +)def __init__\(.*?(?=\n+(?:\1def|\1@|\S|\Z))"
"""A class up to the last line of its constructor; group 1 is the indentation of its methods."""
CHANNELS_LAST = "memory_format=torch.channels_last"
"""Argument of PyTorch for tensors with channels last."""
SOFTMAX = re.compile(
    r"(\w+) = (?:[\w.]*\bsoftmax\((.+), (?:dim=)?-1\)|\(?(.+?)\)?\.softmax\((?:dim=)?-1\))"
)
"""A softmax over the last axis, as a function or a method; others stay.

Group 1 is the name of the result; group 2 of a function, or 3 of a method, are the scores.
"""
SCORES = re.compile(
    r"(?:torch\.matmul\()?([^@]+?)(?: @ |, )([^@]+)\.(?:mT|transpose\(-[12], -[12]\))"
    r"(?:\.contiguous\(\))?\)?(?: ([*/]) (.+))?"
)
"""A product of query and transposed key, as the parser of Python writes it back.

Groups are the query, the key, the operator of the scale and the scale, if there is one.
"""
STEPS = {
    r"{0} = {0} ([*/]) (.+)": "scale",
    r"{0} = {0} \+ (.+)": "attn_mask=torch.atleast_2d({0})",
    r"{0} = {0}\.masked_fill\((.+), float\('-inf'\)\)": "attn_mask=~({0})",
    r"{0} = self\.(\w*drop\w*)\({0}\)": "dropout_p=self.{0}.p if self.training else 0.0",
}
"""Changes of scores named {0}, with the argument of the fused function that does the same.

In the argument, {0} is group 1 of the change; a scale also needs its operator, see `scale`.
"""
VALUES = r"torch\.matmul\({0}, ([\w.]+)\)|\b{0} @ ([\w.]+(?:\([^()]*\))?)"
"""The product of probabilities named {0} and values, which are group 1 or 2."""


@record
class Proposal:
    """An edit of the code of a module.

    Args:
        name: what it does.
        patch: unified difference, relative to the folder of the module.
    """

    name: str
    patch: str


def autocast(text: str, root: str) -> str:
    """Return code whose model runs in bfloat16 where that is safe."""
    decorator = '@torch.autocast("cuda", dtype=torch.bfloat16)'
    return re.sub(METHOD.format(root, "forward"), rf"\1{decorator}\n\2\3", text)


def compiled(text: str, root: str) -> str:
    """Return code whose model is compiled at its first call."""
    # twice the indentation of a method is that of a line in it
    return re.sub(LAST.format(root), r"\g<0>\n\1\1self.compile()", text)


def channels_last(text: str, root: str) -> str:
    """Return code that stores feature maps and filters with channels last."""
    if "Conv2d" not in text or not re.search(METHOD.format(root, "forward"), text):
        return text
    # group 2 is the indentation of a method, group 4 the first parameter
    change = rf"\g<0>\2\2\4 = \4.contiguous({CHANNELS_LAST})\n"
    text = re.sub(METHOD.format(root, "forward") + DOCSTRING, change, text)
    return re.sub(LAST.format(root), rf"\g<0>\n\1\1self.to({CHANNELS_LAST})", text)


def split_products(text: str, _root: str) -> str:
    """Return code that applies linear layers to both parts of a concatenation, without its copy."""
    linear, weight = "torch.nn.functional.linear", r"self.\1.weight"
    # of the layer in group 1 and the parts in groups 2 and 3
    halves = (
        rf"({linear}(\2, {weight}[:, : \2.shape[-1]], self.\1.bias)"
        rf" + {linear}(\3, {weight}[:, \2.shape[-1] :]))"
    )
    for layer in re.findall(r"self\.(\w+) = (?:\w+\.)*Linear\(", text):
        joined = rf"self\.({layer})\(\w+\.cat\([\[(](\w+), (\w+)[\])], (?:dim=)?-1\)\)"
        text = re.sub(joined, halves, text)
    return text


def fused_attention(text: str, _root: str) -> str:
    """Return code with one function for the products of attention and the softmax between."""
    tree, lines = parsed(text.encode()), text.splitlines(keepends=True)
    replacements: list[tuple[int, int, str]] = []
    for node in ast.walk(tree or ast.parse("")):
        body: Any = getattr(node, "body", None)
        for at in range(len(body) - 1) if isinstance(body, list) else ():
            if fused := attention([ast.unparse(s) for s in body[at:] if isinstance(s, ast.stmt)]):
                count, call = fused
                last = body[at + count]
                replacements.append(
                    (body[at].lineno - 1, last.end_lineno, " " * last.col_offset + call)
                )
    # from the last on, so that line numbers above stay valid
    for first, end, call in sorted(replacements, reverse=True):
        lines[first:end] = [f"{call}\n"]
    return "".join(lines)


def attention(statements: Sequence[str]) -> tuple[int, str] | None:
    """Return the number of the statement with the values, and what replaces all up to it."""
    softmax = SOFTMAX.fullmatch(statements[0])
    name, _, expression = statements[0].partition(" = ")
    # the softmax may assign to another name; the product with the values must be the last use of
    # both names
    first_name = name
    scores = SCORES.fullmatch((softmax[2] or softmax[3]) if softmax else expression)
    if scores is None or not name.isidentifier():
        return None
    query, key, op, factor = scores.groups()
    options = {"scale": scale(op, factor)}
    parts = [query, key, factor or "1"]
    for count, statement in enumerate(statements[1:], 1):
        # each further statement is a change of the scores, the softmax, or the product with values
        steps = (
            (re.fullmatch(p.format(name), statement), template) for p, template in STEPS.items()
        )
        step, template = next(((m, template) for m, template in steps if m), (None, ""))
        option = template.partition("=")[0]
        if step is not None:
            # each option once: scale if the product has none, mask, and dropout after the softmax
            is_free = option not in options or (option == "scale" and not op and len(options) == 1)
            if not is_free or (option == "dropout_p") != bool(softmax):
                return None
            op = step[1] if option == "scale" else op
            options[option] = template.partition("=")[2].format(step[1]) or scale(*step.groups())
            # the operand of the step: it must be one expression to stand in the arguments of a call
            parts.append(step[step.lastindex or 1])
            continue
        later_softmax = SOFTMAX.fullmatch(statement)
        if later_softmax and not softmax and name == (later_softmax[2] or later_softmax[3]):
            softmax, name = later_softmax, later_softmax[1]
            continue
        values = [*re.finditer(VALUES.format(name), statement)]
        remaining = " ".join(statements[count:])
        is_last = len(values) == 1 == len(re.findall(rf"\b({name}|{first_name})\b", remaining))
        if not (softmax and is_last and all(map(is_operand, parts))):
            return None
        given = [query, key, values[0][1] or values[0][2], *map("=".join, options.items())]
        call = f"torch.nn.functional.scaled_dot_product_attention({', '.join(given)})"
        return count, statement.replace(values[0][0], call)
    return None


def scale(by: str | None, factor: str | None) -> str:
    """Return the factor of a product: ``1.0`` without one."""
    return f"1 / ({factor})" if by == "/" else factor or "1.0"


def is_operand(text: str) -> bool:
    """Return True for a whole expression that is a product, binds more tightly, or compares."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    is_product = isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Sub))
    plain = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.Compare)
    return is_product or isinstance(node, plain)


EDITS: Mapping[str, Callable[[str, str], str]] = {
    "fused attention": fused_attention,
    "autocast to bf16": autocast,
    "torch.compile": compiled,
    "channels last": channels_last,
    "linear layers split from concatenations": split_products,
}
"""Edits by name."""
MARKS: Mapping[str, Mapping[str, object]] = {
    "self.compile(": {"runtime": of_steps(Steps.COMPILED).name},
    "torch.compile(": {"runtime": of_steps(Steps.COMPILED).name},
    CHANNELS_LAST: {"layout": "channels-last"},
    "torch.autocast(": {},
}
"""Code that changes fields of the deployment, which no export shows; no edit adds it twice."""


def changed_by(patch: str) -> dict[str, object]:
    """Return the fields of the deployment that the lines which a patch adds change."""
    old, new = ("".join(re.findall(rf"(?m)^\{sign}.*", patch)) for sign in "-+")
    changed: dict[str, object] = {}
    for mark in MARKS:
        if mark in new and mark not in old:
            changed |= MARKS[mark]
    return changed


def proposals(module: NamedModule) -> Iterator[Proposal]:
    """Yield the edits that fit the code of a module, each in all of its sources."""
    for name, edit in EDITS.items():
        patch = ""
        for at, path in enumerate(sources_of(module)):
            before = content(path).decode("utf-8", "replace")
            # only the first source has the model's class: "-" is the name of none
            after = edit(before, module.name.rpartition(":")[2] if at == 0 else "-")
            adds_torch = after.count("torch.") > before.count("torch.")
            if adds_torch and not re.search(r"(?m)^import torch$", after):
                after = re.sub(
                    r"(?m)^(?=(?!from __future__)(?:from|import) )",
                    "import torch\n",
                    after,
                    count=1,
                )
            # an edit whose mark the code has already would be the same change twice
            if after != before and not any(0 < before.count(m) < after.count(m) for m in MARKS):
                file = path.relative_to(folder_of(module)).as_posix()
                old, new = (t.splitlines(keepends=True) for t in (before, after))
                patch += "".join(unified_diff(old, new, f"a/{file}", f"b/{file}"))
        if patch:
            yield Proposal(name, patch)
