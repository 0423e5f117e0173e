"""Operands of each probe's verification and their expected results, computed with NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]
    Inputs = Mapping[str, Array]

STEPS = 16
"""Steps of a verified chain; a multiple of every backend's unrolling."""
EXTENT = 96
"""Extent of the verified product: divisible by 16 and 32, as matrix units require."""
SLOTS = 1024
"""Slots of the verified chase: a cycle that a wrong pointer leaves."""
_TOLERANCES = data_next_to(__file__)
"""Largest accepted deviation by element type."""


@dataclass(frozen=True)
class ReferenceResult:
    """Expected result of a probe, and the largest deviation that rounding explains.

    Args:
        values: expected result.
        tolerance: largest accepted deviation, relative to the largest magnitude of ``values``.
    """

    values: Array
    tolerance: float

    def error(self, answer: Array) -> float:
        """Return the largest deviation over the largest value; infinite for other shapes or NaN."""
        import numpy as np

        if answer.shape != self.values.shape:
            return float("inf")
        if self.tolerance == 0:
            return 0.0 if np.array_equal(answer, self.values) else float("inf")
        wanted = np.asarray(self.values, np.float64)
        scale = float(np.max(np.abs(wanted))) or 1.0
        error = float(np.max(np.abs(np.asarray(answer, np.float64) - wanted))) / scale
        # NaN does not equal itself
        return error if error == error else float("inf")

    def accepts(self, answer: Array) -> bool:
        """Return True if the result is correct."""
        return self.error(answer) <= self.tolerance


# operands of a verification for a seed, and the result expected for them
Pair = tuple[Callable[[int], "Inputs"], Callable[["Inputs"], "ReferenceResult"]]


def product(dtype: str) -> Pair:
    """Return operands and result of ``c = a b`` of square matrices; integers if the type is one.

    Operands have the type itself, or f32 if NumPy lacks it and a backend converts: the
    values are then exact in the type.
    """

    def inputs(seed: int) -> Inputs:
        import numpy as np

        rng = np.random.default_rng(seed)
        shape = (2, EXTENT, EXTENT)
        match dtype:
            case "i8":
                a, b = rng.integers(-8, 8, shape).astype(np.int8)
            case "tf32" | "bf16" | "f8e4m3":
                # eighths are exact with three bits of fraction
                a, b = (rng.integers(-8, 8, shape) / 8).astype(np.float32)
            case _:
                kind = {"f64": np.float64, "f32": np.float32, "f16": np.float16}[dtype]
                a, b = rng.standard_normal(shape).astype(kind)
        return {"a": a, "b": b}

    def expected(given: Inputs) -> ReferenceResult:
        import numpy as np

        kind = np.int32 if dtype == "i8" else np.float64
        values = given["a"].astype(kind) @ given["b"].astype(kind)
        return ReferenceResult(values, _TOLERANCES[dtype])

    return inputs, expected


def multiply_add(dtype: str) -> Pair:
    """Return operands and results of x = 0.75 x + 0.25, or 5 x + 7 for integers that wrap.

    The step is repeated ``STEPS`` times. The 384 elements fill the chains of a thread of any
    processor, and fit those of a CUDA block.
    """

    def inputs(seed: int) -> Inputs:
        import numpy as np

        rng = np.random.default_rng(seed)
        if dtype == "i32":
            return {"x": rng.integers(-(1 << 30), 1 << 30, 384).astype(np.int32)}
        kind = {"f64": np.float64, "f16": np.float16}.get(dtype, np.float32)
        # bf16 is passed as f32 with integers that bf16 represents exactly
        values = rng.integers(-8, 8, 384) if dtype == "bf16" else rng.uniform(-4, 4, 384)
        return {"x": values.astype(kind)}

    def expected(given: Inputs) -> ReferenceResult:
        import numpy as np

        if dtype == "i32":
            x = given["x"].astype(np.int64)
            for _ in range(STEPS):
                x = x * 5 + 7 & 0xFFFFFFFF  # modulo 2³²: "+" binds before "&"
            return ReferenceResult(x.astype(np.uint32).view(np.int32), 0.0)
        y = given["x"].astype(np.float64)
        # values approach 1, so that no type overflows
        for _ in range(STEPS):
            y = y * 0.75 + 0.25
        return ReferenceResult(y, _TOLERANCES[dtype])

    return inputs, expected


def dot(dtype: str) -> Pair:
    """Return operands and exact result of a dot product in 32-bit lanes, added ``STEPS`` times.

    Each lane adds four products of 8 bits, or two of bf16.
    """

    def inputs(seed: int) -> Inputs:
        import numpy as np

        rng = np.random.default_rng(seed)
        if dtype == "i8":
            # whole vectors of any width; p is not negative, as some instructions read the first
            # operand as unsigned
            p, q = rng.integers(0, 127, 256), rng.integers(-128, 127, 256)
            return {"p": p.astype(np.int8), "q": q.astype(np.int8)}
        # the upper half of an f32 is bf16, exact for these small integers
        p, q = rng.integers(-8, 8, (2, 128)).astype(np.float32).view(np.uint32) >> 16
        return {"p": p.astype(np.uint16), "q": q.astype(np.uint16)}

    def expected(given: Inputs) -> ReferenceResult:
        import numpy as np

        if dtype == "i8":
            pairs = given["p"].astype(np.int32) * given["q"].astype(np.int32)
            return ReferenceResult(
                pairs.reshape(-1, 4).sum(1, dtype=np.int32) * np.int32(STEPS), 0.0
            )
        p, q = ((given[k].astype(np.uint32) << np.uint32(16)).view(np.float32) for k in ("p", "q"))
        values = (p * q).reshape(-1, 2).sum(1, dtype=np.float32) * np.float32(STEPS)
        return ReferenceResult(values, 0.0)

    return inputs, expected


def unary(function: str) -> Pair:
    """Return operands and results of a function: single-precision values between 1/16 and 8."""

    def inputs(seed: int) -> Inputs:
        import numpy as np

        # positive, as roots and reciprocals need; their exponentials are small
        return {"x": np.random.default_rng(seed).uniform(1 / 16, 8, 1024).astype(np.float32)}

    def expected(given: Inputs) -> ReferenceResult:
        import numpy as np

        x = given["x"].astype(np.float64)
        match function:
            case "exp":
                values = np.exp(x)
            case "exp2":
                values = np.exp2(x)
            case "erf":
                values = np.vectorize(math.erf)(x)
            case "sqrt":
                values = np.sqrt(x)
            case "rsqrt":
                values = 1 / np.sqrt(x)
            case _:
                values = 1 / x
        return ReferenceResult(values, 2e-6)  # 16 units in the last place of f32

    return inputs, expected


def stream(kind: str) -> Pair:
    """Return operands and result of a stream.

    ``read`` has the sum of 32-bit words modulo 2³², ``copy`` the words, ``write`` a constant
    everywhere, and ``triad`` b + 1.5 c.
    """

    def inputs(seed: int) -> Inputs:
        import numpy as np

        rng = np.random.default_rng(seed)
        # 64 KiB: a multiple of what any kernel passes over at once
        count = 16384
        if kind == "triad":
            b, c = rng.standard_normal((2, count)).astype(np.float32)
            return {"b": b, "c": c}
        b = rng.integers(0, 1 << 32, count, dtype=np.uint32)
        return {"b": np.full_like(b, b[0]) if kind == "write" else b}

    def expected(given: Inputs) -> ReferenceResult:
        import numpy as np

        match kind:
            case "read":
                total = np.sum(given["b"], dtype=np.uint32, keepdims=True)
                return ReferenceResult(np.asarray(total), 0.0)
            case "triad":
                values = given["b"].astype(np.float64) + 1.5 * given["c"].astype(np.float64)
                # a product and a sum, each of which rounds
                return ReferenceResult(values, 1e-6)
            case _:
                return ReferenceResult(given["b"], 0.0)

    return inputs, expected


def cycle(slots: int, seed: int) -> Array:
    """Return a permutation of one cycle: ``next[i]`` for every slot, in random order."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(slots)
    following = np.empty(slots, np.int64)
    following[order] = np.roll(order, -1)
    return following


def chase() -> Pair:
    """Return a cycle, and the slot reached from slot 0 after three quarters of it."""

    def inputs(seed: int) -> Inputs:
        import numpy as np

        return {"next": cycle(SLOTS, seed), "steps": np.array([SLOTS * 3 // 4])}

    def expected(given: Inputs) -> ReferenceResult:
        import numpy as np

        slot, following = 0, given["next"].tolist()
        for _ in range(int(given["steps"][0])):
            slot = following[slot]
        return ReferenceResult(np.array([slot], np.int64), 0.0)

    return inputs, expected
