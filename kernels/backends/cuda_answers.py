"""Results of CUDA kernels for the operands of verifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cuda_runs import CHAINS, LINE, pointers

if TYPE_CHECKING:
    from ..probe import Probe
    from ..reference import Array, Inputs
    from .cublaslt import Multiplier
    from .cuda import Cuda


def bits_of(values: Array, dtype: str) -> Array:
    """Return values as the device stores them, for types NumPy lacks; exact in verifications."""
    import numpy as np

    if dtype == "bf16":
        upper = values.astype(np.float32).view(np.uint32) >> np.uint32(16)
        return np.asarray(upper, np.uint16)
    if dtype == "f8e4m3":
        fraction, exponent = np.frexp(np.abs(values.astype(np.float64)))
        # The code of 1.mmm × 2^(e-7) is e << 3 | mmm. `frexp` returns fractions in [0.5, 1), half
        # of 1.mmm, so e is exponent + 6, and mmm is (2 * fraction - 1) * 8.
        code = ((exponent + 6) << 3) | np.rint(fraction * 16 - 8).astype(np.int64)
        code = np.where(values == 0, 0, code) | (np.signbit(values).astype(np.int64) << 7)
        return np.asarray(code, np.uint8)
    return values


def values_of(bits: Array, dtype: str) -> Array:
    """Return the values of results in bf16, the reverse of `bits_of`."""
    import numpy as np

    if dtype == "bf16":
        return np.asarray((bits.astype(np.uint32) << np.uint32(16)).view(np.float32))
    return bits


def product(cuda: Cuda, multiplier: Multiplier, dtype: str, given: Inputs) -> Array:
    """Return ``a b``, row-major: the library transposes ``a``, this function transposes ``b``."""
    import numpy as np

    n = given["a"].shape[0]
    a = cuda.cupy.asarray(bits_of(np.ascontiguousarray(given["a"]), dtype))
    b = cuda.cupy.asarray(bits_of(np.ascontiguousarray(given["b"].T), dtype))
    # bytes give 32-bit integers, 8-bit floats give bf16, of which NumPy has the bits alone
    result = {"f64": "f8", "f16": "f2", "bf16": "u2", "f8e4m3": "u2", "i8": "i4"}.get(dtype, "f4")
    d = cuda.cupy.zeros(n * n, result)
    multiplier.run(a.data.ptr, b.data.ptr, d.data.ptr, cuda.stream.ptr)
    cuda.stream.synchronize()
    multiplier.close()
    output: Array = cuda.cupy.asnumpy(d)
    result_dtype = "bf16" if result == "u2" else dtype
    return values_of(output, result_dtype).reshape(n, n).T


def chain(cuda: Cuda, probe: Probe, given: Inputs) -> Array:
    """Return the chains of one block; 16-bit values are packed in pairs."""
    import numpy as np

    x = bits_of(given["x"], probe.dtype)
    packed = x.view(np.uint32) if x.dtype.itemsize == 2 else x
    # one block of 64 threads
    out = cuda.cupy.zeros(64 * CHAINS, packed.dtype)
    arguments = (out, cuda.cupy.asarray(packed), np.int32(packed.size), np.int32(1))
    cuda.functions[probe.id.replace(".", "_")]((1,), (64,), arguments)
    output: Array = cuda.cupy.asnumpy(out)[: packed.size]
    return values_of(output.view(x.dtype), probe.dtype)


def dot(cuda: Cuda, given: Inputs) -> Array:
    """Return dot products of bytes."""
    import numpy as np

    # one block of 64 threads, each with four bytes in a word
    p, q = (cuda.cupy.asarray(given[k].view(np.int32)) for k in ("p", "q"))
    out = cuda.cupy.zeros(64 * CHAINS, "i4")
    cuda.functions["dot_i8"]((1,), (64,), (out, p, q, np.int32(p.size), np.int32(1)))
    output: Array = cuda.cupy.asnumpy(out)[: int(p.size)]
    return output


def special(cuda: Cuda, probe: Probe, given: Inputs) -> Array:
    """Return the function applied once."""
    import numpy as np

    x = cuda.cupy.asarray(given["x"])
    out = cuda.cupy.zeros_like(x)
    kernel = cuda.functions[f"{probe.id.replace('.', '_')}_once"]
    # blocks of 256 threads that cover all elements
    kernel((x.size // 256 + 1,), (256,), (out, x, np.int32(x.size)))
    output: Array = cuda.cupy.asnumpy(out)
    return output


def chase(cuda: Cuda, given: Inputs) -> Array:
    """Return the slot where the walk ends."""
    import numpy as np

    memory, position = pointers(cuda, given["next"])
    cuda.functions["pointer_chase"]((1,), (1,), (position, np.int64(int(given["steps"][0]))))
    end = int(cuda.cupy.asnumpy(position)[0]) - int(memory.data.ptr)
    return np.array([end // LINE], np.int64)


def stream(cuda: Cuda, what: str, given: Inputs) -> Array:
    """Return the sum that one pass read, or the buffer that it wrote."""
    import numpy as np

    b = cuda.cupy.asarray(given["b"])
    c = cuda.cupy.asarray(given.get("c", given["b"]))
    a, total = cuda.cupy.zeros_like(b), cuda.cupy.zeros(1, "u4")
    # vectors of 16 bytes, half of them for each of two blocks of 128 threads
    words = np.int64(int(b.nbytes) // 16 // 2)
    arguments = (a, b, c, words, np.int32(1), total)
    cuda.functions[f"{what}_stream"]((2,), (128,), arguments)
    output: Array = cuda.cupy.asnumpy(total if what in ("read", "near") else a)
    return output
