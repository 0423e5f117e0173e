"""Matrix products of every element type through cuBLASLt's C interface.

CuPy multiplies only the classical types and cannot record products in a graph; cuBLASLt supports
8-bit types too. Constants are those of ``cublasLt.h`` and ``library_types.h``, stable since
CUDA 11.8.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from ctypes import byref, c_int, c_int8, c_int64, c_size_t, c_uint64, c_void_p
from importlib import import_module
from pathlib import Path

from perfc.common.fitted import data_next_to
from perfc.ir import record

from .backend import MeasurementError

WORKSPACE_BYTES = 64 << 20
"""Workspace of a product, above the 32 MiB that cuBLAS takes on Hopper."""
_TRANSA, _A_SCALE, _B_SCALE, _FAST_ACCUMULATION = 3, 17, 18, 25
"""Attributes of a product. Source: cublasLt.h, cublasLtMatmulDescAttributes_t."""
_WORKSPACE = 1
"""CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES. Source: cublasLt.h."""
_TRANSPOSE = 1
"""CUBLAS_OP_T. Source: cublas_api.h."""


@record
class ProductTypes:
    """Types of a product.

    Args:
        operand: ``cudaDataType`` of a and b.
        result: ``cudaDataType`` of the product.
        compute: ``cublasComputeType_t``.
        scale: ``cudaDataType`` of the factors.
        capability: minimum compute capability with tensor cores for it, major and minor digit.
        bytes: bytes of an operand's element.
        result_bytes: bytes of the product's element.
    """

    operand: int
    result: int
    compute: int
    scale: int
    capability: int
    bytes: int
    result_bytes: int


KINDS = {name: ProductTypes(*row) for name, row in data_next_to(__file__).items()}
"""Types of products by the element type of their operands."""


class _Heuristic(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", ctypes.c_float),
        ("reserved", c_int * 4),
    )


def find_library() -> ctypes.CDLL | None:
    """Return the library, from CuPy's search path, this process, or the system."""
    try:
        # CuPy 14 and later load NVIDIA's wheels through this package
        pathfinder = import_module("cuda.pathfinder")
        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublasLt").abs_path)
    except (ImportError, RuntimeError, OSError):
        pass  # an older CuPy, or no wheel
    with suppress(ImportError, RuntimeError, OSError):
        # importing it loads the library
        import_module("cupy_backends.cuda.libs.cublas")
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        maps = ""
    loaded = {line.split()[-1] for line in maps.splitlines() if "libcublasLt" in line}
    for path in (*sorted(loaded), "libcublasLt.so.13", "libcublasLt.so.12"):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


class Multiplier:
    """Square products ``d = aᵀ b`` of column-major matrices, described once and run often.

    Args:
        kind: types; see `KINDS`.
        extent: rows and columns.
        workspace: device address of `WORKSPACE_BYTES`.
        one: device address of a single-precision 1, the scale of 8-bit floating-point operands.
    """

    def __init__(
        self, library: ctypes.CDLL, kind: ProductTypes, extent: int, workspace: int, one: int
    ) -> None:
        self.library, self.kind, self.workspace = library, kind, workspace
        self.handle, self.operation = c_void_p(), c_void_p()
        self.operand, self.result = c_void_p(), c_void_p()
        self._call("cublasLtCreate", byref(self.handle))
        self._describe(one)
        n = c_uint64(extent)
        # square matrices: rows, columns and leading extent are equal
        for layout, code in ((self.operand, kind.operand), (self.result, kind.result)):
            self._call("cublasLtMatrixLayoutCreate", byref(layout), code, n, n, c_int64(extent))
        self.heuristic = self._choose()
        self.alpha, self.beta = _factor(kind.scale, 1), _factor(kind.scale, 0)

    def _call(self, name: str, *arguments: object) -> None:
        """Call a function of the library; any status but 0 is an error."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise MeasurementError(f"{name} returns status {status}")

    def _describe(self, one: int) -> None:
        """Describe the product: ``a`` transposed, scales where the type needs them."""
        self._call(
            "cublasLtMatmulDescCreate", byref(self.operation), self.kind.compute, self.kind.scale
        )
        self._attribute(_TRANSA, ctypes.c_int32(_TRANSPOSE))
        # 8-bit floats need a scale for each operand, here 1. Fast accumulation, which does not
        # promote intermediate sums, has the higher rate.
        if self.kind is KINDS["f8e4m3"]:
            self._attribute(_A_SCALE, c_void_p(one))
            self._attribute(_B_SCALE, c_void_p(one))
            self._attribute(_FAST_ACCUMULATION, c_int8(1))

    def _attribute(self, which: int, value: ctypes.c_int32 | c_void_p | c_int8) -> None:
        """Set one attribute of the product."""
        size = c_size_t(ctypes.sizeof(value))
        self._call("cublasLtMatmulDescSetAttribute", self.operation, which, byref(value), size)

    def _choose(self) -> _Heuristic:
        """Return the algorithm that the library's heuristic prefers.

        Raises:
            MeasurementError: the library has none for these types on this device.
        """
        preference, count, heuristic = c_void_p(), c_int(), _Heuristic()
        self._call("cublasLtMatmulPreferenceCreate", byref(preference))
        limit = c_uint64(WORKSPACE_BYTES)
        self._call(
            "cublasLtMatmulPreferenceSetAttribute",
            preference,
            _WORKSPACE,
            byref(limit),
            c_size_t(8),  # bytes of the limit
        )
        layouts = (self.operand, self.operand, self.result, self.result)
        try:
            self._call(
                "cublasLtMatmulAlgoGetHeuristic",
                self.handle,
                self.operation,
                *layouts,
                preference,
                1,  # algorithms, the preferred one alone
                byref(heuristic),
                byref(count),
            )
        finally:
            self.library.cublasLtMatmulPreferenceDestroy(preference)
        if count.value < 1 or heuristic.state:
            raise MeasurementError("cuBLASLt has no product of these types")
        return heuristic

    def run(self, a: int, b: int, d: int, stream: int) -> None:
        """Enqueue ``d = aᵀ b``; all are device addresses."""
        status = self.library.cublasLtMatmul(
            self.handle,
            self.operation,
            byref(self.alpha),
            c_void_p(a),
            self.operand,
            c_void_p(b),
            self.operand,
            byref(self.beta),
            c_void_p(d),
            self.result,
            c_void_p(d),
            self.result,
            byref(self.heuristic.algorithm),
            c_void_p(self.workspace),
            c_size_t(WORKSPACE_BYTES),
            c_void_p(stream),
        )
        if status:
            raise MeasurementError(f"cublasLtMatmul returns status {status}")

    def close(self) -> None:
        """Release the library's handles."""
        self.library.cublasLtMatrixLayoutDestroy(self.operand)
        self.library.cublasLtMatrixLayoutDestroy(self.result)
        self.library.cublasLtMatmulDescDestroy(self.operation)
        self.library.cublasLtDestroy(self.handle)


def _factor(scale: int, value: int) -> ctypes.c_double | ctypes.c_int32 | ctypes.c_float:
    """Return alpha or beta in the type of the factors: CUDA_R_64F is 1, CUDA_R_32I is 10."""
    match scale:
        case 1:
            return ctypes.c_double(value)
        case 10:
            return ctypes.c_int32(value)
        case _:
            return ctypes.c_float(value)
