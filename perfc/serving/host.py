"""Host overhead of serving engines by runtime and version, fitted to published benchmarks.

A step takes ``kernels · k + exchanges · x + step + Σ sequences``, where k and x are the times of
its kernels and collectives. Kernels of steps with prompts have a separate factor, which also
absorbs what prefix caches saved. ``perfc train serving`` fits these numbers together to published
runs of serving engines; none was measured separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path

from perfc.common.fitted import read_records
from perfc.errors import ParseError
from perfc.ir import record
from perfc.passes.runtimes import EngineKind

FILE = Path(__file__).with_suffix(".toml")
COMMENT = "What hosts of serving engines take; `perfc train serving` wrote this file."
"""First line of the file."""
BENCH, DISAGGREGATED, EXPERTS = "-bench", "-apart", "experts"
"""Suffixes of the runtime in the names of host models: of offline benchmarks and of engines with
disaggregated prefill; and the last word of a name that applies to models with experts only."""
ROCM, AMD = "-rocm", "AMD"
"""Suffix of a runtime with a host model of its own on AMD GPUs, and the vendor of these."""
ENOUGH_ROWS = 100
"""Minimum runs with disaggregated prefill for a separate host model; with fewer, the host model of
servers is used, as few runs show no width of the intervals."""
VERSION = re.compile(r"[vb]?(\d{1,6})(?:\.(\d{1,6}))?")
"""Major and minor number at the start of a version."""
FEW = 64
"""Sequences of a step up to which each costs ``few_s`` more; later ones share loops and kernels."""


@record
class HostModel:
    """Fitted host overhead of a runtime.

    Args:
        kernels: factor on kernel time in steps without prompts, due to clocks and neighbouring
            kernels in a long run.
        prompts: factor on kernel time in steps with prompts.
        exchanges: factor on the time of collectives.
        step_s: overhead of every step in seconds.
        prompt_s: overhead of each prompt in a step.
        sequence_s: overhead of each sequence in a step.
        few_s: extra overhead of each of the first `FEW` sequences.
        request_s: time of a request before its first step: server and connection.
        token_s: time before the first step per prompt token, for tokenization.
        launch_s: launch overhead of each kernel in steps with prompts, where the host launches
            kernels one by one; decode-only steps are recorded as graphs.
        write_s: time of the server for each token that it sends, one after another.
        ttft_low: 5 % quantile of measured over predicted time to first token.
        ttft_high: 95 % quantile of the same.
        tpot_low: 5 % quantile of measured over predicted time per output token.
        tpot_high: 95 % quantile of the same.
        rows: number of measurements that it was fitted to.
        models: models of those measurements.
        source: publisher of the measurements.
        versions: major and minor numbers of the measured versions of the runtime; empty if the
            measurements state none.
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
    write_s: float = 0.0
    ttft_low: float = 0.5
    ttft_high: float = 2.0
    tpot_low: float = 0.7
    tpot_high: float = 1.4
    rows: int = 0
    models: tuple[str, ...] = ()
    source: str = ""
    versions: tuple[str, ...] = ()

    def is_of(self, version: str) -> bool:
        """Return True if a version was measured, by major and minor number; "" matches any."""
        requested = numbers_of(version)
        return not requested or any(
            numbers_of(v)[: len(requested)] == requested for v in self.versions
        )

    def before_s(self, tokens: float) -> float:
        """Return the seconds that a request takes before its first step, by its prompt tokens."""
        return self.request_s + self.token_s * tokens

    def device(self, kernels: float, exchanges: float, *, has_prompts: bool) -> float:
        """Return a step's kernel and collective amounts, scaled by their fitted factors and summed.

        The amounts are seconds or joules.
        """
        factor = self.prompts if has_prompts else self.kernels
        return factor * kernels + self.exchanges * exchanges

    def step(self, kernels_s: float, exchanges_s: float, prompts: int, decodes: int) -> float:
        """Return the seconds of one step."""
        step_amounts = amounts(kernels_s, exchanges_s, prompts, decodes)
        return sum([a * b for a, b in zip(learned_of(self), step_amounts, strict=True)])


FACTORS = ("kernels", "prompts", "exchanges")
"""Fitted numbers without a unit; the other `LEARNED` ones are seconds."""
LEARNED = ("kernels", "prompts", "exchanges", "step_s", "prompt_s", "sequence_s", "few_s")
"""Fitted numbers, in the order of the amounts that they multiply."""
learned_of: Callable[[HostModel], tuple[float, ...]] = attrgetter(*LEARNED)


def amounts(kernels_s: float, exchanges_s: float, prompts: int, decodes: int) -> tuple[float, ...]:
    """Return the amounts of one step that the `LEARNED` numbers of a host model multiply."""
    sequences = prompts + decodes
    return (
        0.0 if prompts else kernels_s,
        kernels_s if prompts else 0.0,
        exchanges_s,
        1.0,
        float(prompts),
        float(sequences),
        float(min(sequences, FEW)),
    )


@cache
def host_models() -> Mapping[str, HostModel]:
    """Return the host models that come with perfc, by runtime and by ``runtime version``."""
    return read_records(FILE, HostModel)


def platform_of(runtime: str, vendor: str) -> str:
    """Return the name under which a runtime has host models on GPUs of a vendor."""
    platform = f"{runtime}{ROCM}"
    is_measured = any(name.split()[0].removesuffix(BENCH) == platform for name in host_models())
    # a runtime without measured runs on AMD GPUs takes its host model of other GPUs
    return platform if vendor == AMD and is_measured else runtime


def is_measured_on(law: HostModel, vendor: str) -> bool:
    """Return True if the runs of a host model were on GPUs of a vendor, AMD or others."""
    # a law may be a changed copy: its publisher and number of rows identify the runs
    rocm = {(m.source, m.rows) for name, m in host_models().items() if ROCM in name}
    return ((law.source, law.rows) in rocm) is (vendor == AMD)


def host_model_of(runtime: str, version: str = "", vendor: str = "") -> HostModel:
    """Return the host model of a runtime's server, as `named_host_model` chooses it.

    Raises:
        ParseError: the version does not start with a number.
    """
    return named_host_model(runtime, version, vendor)[1]


def named_host_model(
    runtime: str, version: str, vendor: str = "", *, has_experts: bool | None = None
) -> tuple[str, HostModel]:
    """Return the name and the host model of a runtime, measured at the version nearest to one.

    On AMD GPUs, a host model measured there is preferred. The nearest version is the newest one
    measured that is not newer than ``version``, otherwise the oldest; only versions with the same
    engine count (`EngineKind.rewritten`). Servers and offline benchmarks are in one order of
    versions: a version at which only one of them was measured counts for both. Requests to a server
    then take the connection of the runtime's servers, those of a benchmark none. A runtime without
    measurements has no host overhead.

    Args:
        runtime: served or benchmarked runtime.
        version: its version; "" for the newest that was measured.
        vendor: vendor of the GPUs.
        has_experts: None for a server; of a benchmark True for a model with experts, which have a
            host model of their own where several were benchmarked under a version.

    Raises:
        ParseError: the version does not start with a number.
    """
    models, platform = host_models(), platform_of(runtime, vendor)
    is_served = has_experts is None
    servers = [n for n in models if n.split()[0] == platform]
    # if only benchmarks were run on AMD GPUs, the connection is that of servers on other GPUs
    servers = servers or [n for n in models if n.split()[0] == runtime]
    benchmarks = [
        name
        for name in sorted(models)
        if name.split()[0] == f"{platform}{BENCH}" and (has_experts or EXPERTS not in name.split())
    ]
    # `_nearest` prefers the last of equal versions: of the requested kind, and sorted by name,
    # benchmarks with experts after those of all models
    candidates = [*benchmarks, *servers] if is_served else [*servers, *benchmarks]
    name = _nearest(candidates, version) or next(iter(servers), runtime)
    law = models.get(name, HostModel())
    if is_served and name not in benchmarks:
        return name, law
    server = models[servers[0]] if is_served else HostModel()
    return name, replace(law, request_s=server.request_s, token_s=server.token_s)


def _is_rewritten(name: str, numbers: tuple[int, ...]) -> bool:
    """Return True if a version of a host model's runtime has its later, rewritten engine."""
    engine = EngineKind.of(re.split("[- ]", name)[0])
    # 0 after the numbers: a bare major version counts as its first minor
    return (*numbers, 0) >= numbers_of(engine.rewritten)


def _nearest(names: Iterable[str], version: str) -> str:
    """Return the name whose measured versions are nearest to one, as in `named_host_model`.

    Of several names with the same version the last one wins; "" if none was measured.
    """
    requested = numbers_of(version)
    # by version, then by place in `names`: the last pair has the newest version and preferred name
    pairs = sorted(
        (numbers_of(v), i, n) for i, n in enumerate(names) for v in host_models()[n].versions
    )
    if requested:
        pairs = [
            (numbers, i, name)
            for numbers, i, name in pairs
            if _is_rewritten(name, numbers) is _is_rewritten(name, requested)
        ]
    oldest = pairs[0][0] if pairs else ()
    # versions are compared by as many numbers as the requested one has
    not_newer = [
        name
        for numbers, _, name in pairs
        if not requested or numbers[: len(requested)] <= requested or numbers == oldest
    ]
    return not_newer[-1] if not_newer else ""


def disaggregated_host_model(runtime: str, version: str = "") -> HostModel:
    """Return the host model for disaggregated prefill, or that of servers if too few were measured.

    The intervals of the latter are no narrower than those of any runtime's disaggregated prefill.

    Raises:
        ParseError: the version does not start with a number.
    """
    server = host_model_of(runtime, version)
    fitted = host_models().get(f"{runtime}{DISAGGREGATED}")
    if fitted is not None and fitted.rows >= ENOUGH_ROWS:
        return fitted
    measured = [model for name, model in host_models().items() if name.endswith(DISAGGREGATED)]
    # few rows show no width: the widest measured end of each interval
    bands = {
        name: (min if name.endswith("low") else max)(getattr(m, name) for m in (server, *measured))
        for name in ("ttft_low", "ttft_high", "tpot_low", "tpot_high")
    }
    return replace(server, **bands)


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the major and minor number of a version; () for "".

    >>> numbers_of("v1.0rc3")
    (1, 0)

    Raises:
        ParseError: it does not start with a number.
    """
    match = VERSION.match(version)
    if version and match is None:
        hint = "start with a number, as in 0.11"
        raise ParseError(f"{version[:32]!r} is not a version", where="--runtime-version", hint=hint)
    return tuple([int(n) for n in match.groups() if n]) if match else ()
