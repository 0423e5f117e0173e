"""What an engine takes beside its kernels: its host, by runtime and version, learned from rows.

A step takes ``kernels · k + exchanges · x + step + Σ sequences``; kernels of steps with prompts
have a factor of their own, in which is too what prefix caches saved. The numbers are fitted by
``perfc train serving`` to published runs of serving engines; nobody measured them one by one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from perfc.errors import ParseError
from perfc.ir.record import record

FILE = Path(__file__).with_suffix(".toml")
BENCH, APART, EXPERTS = "-bench", "-apart", "experts"
"""Ends of the runtime in names of laws of benchmarks without a server, and of engines whose prompts
others compute; last word of those that speak for models with experts alone."""
ENOUGH_ROWS = 100
"""Fewer runs with prompts apart tell less than a runtime's servers do."""
VERSION = re.compile(r"v?(\d{1,6})(?:\.(\d{1,6}))?")
"""Major and minor number at the begin of a version."""
FEW = 64
"""Sequences up to which each costs ``few_s`` more: later ones share loops and kernels."""


@record
class HostLaw:
    """Fitted numbers of a runtime.

    Args:
        kernels: factor of the kernels' time, as clocks and neighbours have it in a long run.
        prompts: the same of steps with prompts.
        exchanges: factor of the collectives' time.
        step_s: of every step.
        prompt_s: of a step with prompts, for each of them.
        sequence_s: for each sequence of a step.
        few_s: further, for each of the first `FEW` sequences.
        request_s: of a request before its first step: server and connection.
        token_s: the same for each token of its prompt, which a tokenizer reads.
        launch_s: of a step with prompts, for each of its kernels, which hosts launch one by one
            while others run: engines record steps of decoding alone.
        ttft_low: measured over predicted time to the first token, 5 % of rows left out.
        ttft_high: 95 % of them.
        tpot_low: the same of the time per token.
        tpot_high: 95 % of those.
        rows: that it was fitted to.
        models: of them.
        source: who measured.
        versions: of the runtime, major and minor number of each that rows state; empty where they
            state none.
    """

    kernels: float = 1.0
    prompts: float = 1.0
    exchanges: float = 1.0
    step_s: float = 0.0
    prompt_s: float = 0.0
    sequence_s: float = 0.0
    few_s: float = 0.0
    request_s: float = 0.0
    token_s: float = 0.0
    launch_s: float = 0.0
    ttft_low: float = 0.5
    ttft_high: float = 2.0
    tpot_low: float = 0.7
    tpot_high: float = 1.4
    rows: int = 0
    models: tuple[str, ...] = ()
    source: str = ""
    versions: tuple[str, ...] = ()

    def is_of(self, version: str) -> bool:
        """Whether rows of a version were measured, by its major and minor number; "" is any."""
        requested = numbers_of(version)
        return not requested or any(
            numbers_of(v)[: len(requested)] == requested for v in self.versions
        )

    def before_s(self, tokens: float) -> float:
        """What a request takes before its first step, by the tokens of its prompt."""
        return self.request_s + self.token_s * tokens

    def device(self, kernels: float, exchanges: float, *, has_prompts: bool) -> float:
        """An amount of a step's kernels and exchanges, as long as they take in a long run."""
        return (
            self.prompts if has_prompts else self.kernels
        ) * kernels + self.exchanges * exchanges

    def step(self, kernels_s: float, exchanges_s: float, prompts: int, decodes: int) -> float:
        """Seconds of one step."""
        each = amounts(kernels_s, exchanges_s, prompts, decodes)
        own = (self.kernels, self.prompts, self.exchanges,
               self.step_s, self.prompt_s, self.sequence_s, self.few_s)  # fmt: skip
        return sum([a * b for a, b in zip(own, each, strict=True)])


FACTORS = ("kernels", "prompts", "exchanges")
LEARNED = ("kernels", "prompts", "exchanges", "step_s", "prompt_s", "sequence_s", "few_s")
"""Numbers that are fitted, in the order of the amounts that they multiply."""


def amounts(kernels_s: float, exchanges_s: float, prompts: int, decodes: int) -> tuple[float, ...]:
    """What the `LEARNED` numbers of a law multiply in one step."""
    sequences = prompts + decodes
    return (
        0.0 if prompts else kernels_s, kernels_s if prompts else 0.0, exchanges_s,
        1.0, float(prompts), float(sequences), float(min(sequences, FEW)),
    )  # fmt: skip


@cache
def laws() -> Mapping[str, HostLaw]:
    """The laws that come with perfc, by runtime and by ``runtime version``."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    known = {f.name for f in fields(HostLaw)}
    return {
        name: HostLaw(**{k: _plain(v) for k, v in table.items() if k in known})
        for name, table in found.items()
        if isinstance(table, dict)
    }


def _plain(value: object) -> Any:
    return tuple(value) if isinstance(value, list) else value


def law_of(runtime: str, version: str = "") -> HostLaw:
    """Returns the law of a runtime whose measured versions are nearest to the requested one.

    That is the newest measured version that is not newer, else the oldest that was measured; of
    no version the newest. Where nobody measured the runtime, its kernels alone.

    Raises:
        ParseError: the version begins with no number.
    """
    named = [name for name in laws() if name.split()[0] == runtime]
    name = _nearest(named, version) or runtime
    return laws().get(name) or HostLaw()


def _nearest(names: Iterable[str], version: str) -> str:
    """Returns the law whose measured versions are nearest to one, as `law_of` says.

    Laws that come later speak for the same version before others; "" where none was measured.
    """
    requested = numbers_of(version)
    pairs = sorted((numbers_of(v), i, n) for i, n in enumerate(names) for v in laws()[n].versions)
    older = [
        name
        for numbers, _, name in pairs
        if not requested or numbers[: len(requested)] <= requested
    ]
    return older[-1] if older else pairs[0][2] if pairs else ""


def apart_law(runtime: str, version: str = "") -> HostLaw:
    """The law of engines whose prompts others compute; that of servers where few such runs taught.

    Raises:
        ParseError: the version begins with no number.
    """
    served = law_of(runtime, version)
    known = laws().get(f"{runtime}{APART}")
    return known if known is not None and known.rows >= ENOUGH_ROWS else served


def bench_law(runtime: str, version: str, *, has_experts: bool) -> tuple[str, HostLaw]:
    """Returns the law of benchmarks without a server and its name, by version as `law_of`.

    Args:
        runtime: that was driven so.
        version: of it; "" for the newest that was measured.
        has_experts: whether the model has; they have laws of their own where several were run
            under a version.

    Raises:
        ParseError: nobody published such benchmarks of the runtime, or the version begins with no
            number.
    """
    # of a version the law of models with experts is behind the other
    named = [
        name for name in sorted(laws())
        if name.split()[0] == f"{runtime}{BENCH}" and (has_experts or EXPERTS not in name.split())
    ]  # fmt: skip
    name = _nearest(named, version)
    if not name:
        hint = "leave --offline out for a server"
        message = f"nobody published benchmarks without a server of {runtime}"
        raise ParseError(message, where="--offline", hint=hint)
    return name, laws()[name]


def numbers_of(version: str) -> tuple[int, ...]:
    """Major and minor number of a version; none of "".

    >>> numbers_of("v1.0rc3")
    (1, 0)

    Raises:
        ParseError: it begins with no number.
    """
    found = VERSION.match(version)
    if version and found is None:
        hint = "a number first, as in 0.11"
        raise ParseError(f"{version[:32]!r} is no version", where="--runtime-version", hint=hint)
    return tuple([int(n) for n in found.groups() if n]) if found else ()


def as_toml(found: Mapping[str, HostLaw]) -> str:
    """Laws as the file has them, four digits each."""
    from perfc.toml_file import written

    tree: dict[str, object] = {}
    for name, law in sorted(found.items()):
        values = {f.name: getattr(law, f.name) for f in fields(HostLaw)}
        tree[name] = {
            k: float(f"{v:.4g}") if isinstance(v, float) else list(v) if isinstance(v, tuple) else v
            for k, v in values.items()
        } | {"origin": "fitted"}
    return written(
        tree, "What hosts of serving engines take; `perfc train serving` wrote this file."
    )
