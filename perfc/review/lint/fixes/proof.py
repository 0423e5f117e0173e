"""Verification that two models give bitwise equal results on random inputs in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfc.common.extras import required
from perfc.common.plain_text import say
from perfc.errors import PerfcError, message_line
from perfc.ir import Module
from perfc.measuring.measure.memory import AllocatorBehavior, check_room, fits, need_of
from perfc.measuring.measure.tables.feeds import Input, contents, inputs_of

from .edit import FixError

RUNS = 5
"""Number of random inputs on which the results must be bitwise equal."""
VARIED = 2
"""Number of runs with other extents than assumed, if the model supports it."""
_FOLDER = "session.model_external_initializers_file_folder_path"
"""Option by which onnxruntime finds external weights of a model that it is given as bytes."""


def session(model: bytes, folder: Path | None = None) -> Any:
    """Create a single-threaded session without optimizations, so that results are exact.

    Raises:
        MissingExtraError: onnxruntime is not installed.
    """
    message = "--fix proves its results with onnxruntime"
    onnxruntime = required("onnxruntime", message, "ort")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # fatal errors only: others are raised
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # buffers are given back as soon as nobody reads them: both models run in this process
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if folder is not None:
        options.add_session_config_entry(_FOLDER, str(folder))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def prove(
    before: bytes,
    after: bytes,
    module: Module,
    folder: Path,
    values: Mapping[str, object] | None = None,
) -> int:
    """Verify equal results, and return the number of random inputs: ``RUNS``.

    Compares element by element, with NaN equal to NaN. The last runs have other extents, if the
    original accepts them and they fit in memory.

    Args:
        before: the original model.
        after: the fixed model.
        module: the analyzed original, with types, vocabularies and extents.
        folder: folder of external data.
        values: required contents of some inputs.

    Raises:
        FixError: a model does not run, or results differ.
        ModelError: out of memory.
    """
    env = module.defaults()
    if warning := check_room(need_of(module, env, AllocatorBehavior.RETURNED, sessions=2)):
        say(f"warning: {warning}", is_error=True)
    original, fixed = (
        _opened(m, folder, what) for m, what in ((before, "original"), (after, "fixed"))
    )
    plain = inputs_of(module, env)
    larger = {k: n + 1 for k, n in env.items()}
    has_room = fits(need_of(module, larger, AllocatorBehavior.RETURNED, sessions=2))
    varied = inputs_of(module, larger) if has_room else plain
    for seed in range(RUNS):
        # given contents of inputs have the extents of the analysis
        inputs = varied if seed >= RUNS - VARIED and not values else plain
        try:
            expected = _outputs(original, inputs, seed, values)
        except PerfcError:
            raise
        except Exception as error:  # onnxruntime's exceptions share no other base
            if inputs is plain:
                raise FixError(f"the original does not run: {_reason(error)}") from None
            # the original does not accept the larger extents
            expected = _outputs(original, inputs := plain, seed, values)
        try:
            actual = _outputs(fixed, inputs, seed, values)
        except Exception as error:  # as above
            raise FixError(f"the fixed model does not run: {_reason(error)}") from None
        _compare(expected, actual, original, seed)
    return RUNS


def _opened(model: bytes, folder: Path, what: str) -> Any:
    """Return a session of a model; ``what`` names the model in the error."""
    try:
        return session(model, folder)
    except PerfcError:
        raise
    except Exception as error:  # as above
        hint = "a fix is written only where onnxruntime proves it equal"
        raise FixError(f"onnxruntime cannot load the {what}: {_reason(error)}", hint=hint) from None


def _reason(error: Exception) -> str:
    """Return the first characters of an error, enough to name the cause."""
    return message_line(error)[:200]


def _outputs(
    run: Any, inputs: Sequence[Input], seed: int, values: Mapping[str, object] | None
) -> list[Any]:
    """Return the outputs for the random inputs of a seed; given contents replace random ones."""
    import numpy as np
    import onnxruntime

    arrays = contents(tuple(inputs), seed)
    for i in inputs:
        if values and i.name in values:
            arrays[i.name] = np.asarray(values[i.name]).astype(arrays[i.name].dtype)
    make = onnxruntime.OrtValue
    feeds = {
        i.name: make.ortvalue_from_numpy_with_onnx_type(arrays[i.name], i.dtype.onnx)
        for i in inputs
    }
    return list(run.run_with_ort_values(None, feeds))


def _compare(expected: Sequence[Any], actual: Sequence[Any], run: Any, seed: int) -> None:
    """Raise an error if an output differs; ``run`` is the session of the original."""
    for info, a, b in zip(run.get_outputs(), expected, actual, strict=True):
        if not a.is_tensor() or not b.is_tensor() or a.data_type() != b.data_type():
            raise FixError(f"output {info.name!r} is not a tensor of one type in both models")
        if not _is_equal(a.numpy(), b.numpy()):
            raise FixError(
                f"the fixed model differs in output {info.name!r} on random input {seed}",
                hint="nothing was written; please report it",
            )


def _is_equal(a: Any, b: Any) -> bool:
    """Return True if two arrays are equal, with NaN equal to NaN."""
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    same = a == b
    if a.dtype.kind in "fc":
        same = same | (np.isnan(a) & np.isnan(b))
    return bool(np.all(same))
