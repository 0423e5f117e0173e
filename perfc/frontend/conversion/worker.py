"""Process that converts one model: prints nothing, and writes an answer for perfc."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

SAFE_KERAS = (3, 11, 3)
"""First version of Keras that runs no code of a file in HDF5 (CVE-2025-9905)."""


def main(path: str, source: str, document: str, reply: str) -> None:
    """Convert a model and write the answer.

    Args:
        path: path of the model.
        source: name of a `Convertible`.
        document: path of the OpenVINO document to write.
        reply: path of the answer.
    """
    # no message of TensorFlow, and no memory of a GPU
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
    # empty for a converted model
    answer: dict[str, str] = {}
    try:
        openvino: Any = importlib.import_module("openvino")
        with tempfile.TemporaryDirectory() as folder:
            exported_path = exported(path, folder) if source == "KERAS" else path
            # by default OpenVINO would store weights of 32 bits in 16
            network = openvino.convert_model(exported_path)
            openvino.save_model(network, document, compress_to_fp16=False)
    except ModuleNotFoundError as error:
        answer = {"missing": (error.name or str(error)).partition(".")[0]}
    except Exception as error:
        answer = {"error": reason(error)}
    Path(reply).write_text(json.dumps(answer), encoding="utf-8")


def exported(path: str, folder: str) -> str:
    """Return the folder of a Keras model saved as a SavedModel; no code in the model's file runs.

    Raises:
        ValueError: a version of Keras that would run code of the file.
    """
    importlib.import_module("tensorflow")
    keras: Any = importlib.import_module("keras")
    # major, minor and patch, without a suffix such as rc1
    version = tuple(int(n) for n in re.findall(r"\d+", keras.__version__)[:3])
    if version < SAFE_KERAS:
        raise ValueError(
            f"Keras {keras.__version__} may run code of the file: pip install -U keras"
        )
    model = keras.saving.load_model(path, compile=False, safe_mode=True)
    result = os.path.join(folder, "saved")
    model.export(result, format="tf_saved_model", verbose=False)
    return result


def reason(error: Exception) -> str:
    """Return one line of an error of a converter: its last long line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # the last line that is long enough to say what failed
    shown = next((line for line in reversed(lines) if len(line) > 20), "")
    return f"OpenVINO does not convert it: {shown or type(error).__name__}"[:300]


if __name__ == "__main__":
    main(*sys.argv[1:])
