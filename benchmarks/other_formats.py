"""Work of models in formats of other frameworks, against the same networks in ONNX.

``keras`` (with tensorflow and tf2onnx), ``jax`` (with keras and jax) and ``openvino`` (with
openvino and onnx) write the models. ``table`` reads them with perfc; it needs the extra
``tensorflow`` for SavedModels and jax for StableHLO.

    python benchmarks/other_formats.py keras FOLDER
    python benchmarks/other_formats.py jax FOLDER
    python benchmarks/other_formats.py openvino FOLDER --onnx ../shared/models
    python benchmarks/other_formats.py table FOLDER --onnx ../shared/models
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

KERAS = (
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "MobileNetV3Large",
    "EfficientNetB0",
    "EfficientNetB1",
    "EfficientNetV2B0",
    "ResNet50",
    "ResNet50V2",
    "ResNet101",
    "DenseNet121",
    "DenseNet169",
    "NASNetMobile",
    "InceptionV3",
    "Xception",
)
"""Networks of keras.applications, with random weights."""
ONNX = (
    "timm__resnet50__224",
    "timm__mobilenetv3_large_100__224",
    "timm__efficientnet_b0__224",
    "timm__deit_tiny_patch16_224__224",
    "timm__densenet121__224",
    "timm__ghostnet_100__224",
    "timm__mixer_b16_224__224",
    "timm__mobilevit_s__256",
    "timm__poolformer_s12__224",
    "timm__levit_128__224",
    "timm__inception_v3__299",
    "timm__cait_xxs24_224__224",
    "hf__bert-base",
    "hf__gpt2",
    "hf__rtdetr-r18__640",
)
"""Public graphs without weights."""
FORMATS = {
    ".tflite": "TFLite",
    ".xml": "OpenVINO",
    ".saved": "SavedModel",
    ".keras": "Keras",
    ".mlir": "StableHLO",
}
CLOSE = 0.005
"""Maximum relative difference of the work."""


def make_keras(folder: Path) -> None:
    """Write each network as Keras, SavedModel, TFLite and ONNX files."""
    import keras
    import tensorflow as tf

    for name in KERAS:
        model = getattr(keras.applications, name)(weights=None)
        model.save(folder / f"{name}.keras")
        saved = str(folder / f"{name}.saved")
        model.export(saved, verbose=False)
        converter = tf.lite.TFLiteConverter.from_saved_model(saved)
        (folder / f"{name}.tflite").write_bytes(converter.convert())
        command = [sys.executable, "-m", "tf2onnx.convert", "--saved-model", saved]
        output = ["--output", str(folder / f"{name}.onnx"), "--opset", "18"]
        subprocess.run([*command, *output], check=True, capture_output=True)


def make_jax(folder: Path) -> None:
    """Write each network that JAX exports with a symbolic batch as StableHLO; print the others."""
    os.environ["KERAS_BACKEND"] = "jax"
    import jax
    import keras

    for name in KERAS:
        model = getattr(keras.applications, name)(weights=None)
        variables = model.trainable_variables, model.non_trainable_variables
        weights = [[jax.ShapeDtypeStruct(v.shape, v.dtype) for v in vs] for vs in variables]
        (batch,) = jax.export.symbolic_shape("batch")
        image = jax.ShapeDtypeStruct((batch, *model.inputs[0].shape[1:]), "float32")
        call = jax.jit(lambda w, s, x, m=model: m.stateless_call(w, s, x, training=False)[0])
        try:
            program = jax.export.export(call)(*weights, image)
        except Exception as error:
            print(f"{name}: not exported: {type(error).__name__}")
            continue
        (folder / f"{name}.mlir").write_text(program.mlir_module())


def make_openvino(folder: Path, graphs: Path) -> None:
    """Write each graph, with random weights, as an OpenVINO model."""
    import openvino

    from perfc.measuring.measure.tables.weights import runnable

    for name in ONNX:
        with tempfile.TemporaryDirectory() as scratch:
            source = runnable(graphs / f"{name}.onnx.gz", Path(scratch)).path
            model = openvino.convert_model(source)
            openvino.save_model(model, folder / f"{name}.xml", compress_to_fp16=False)


def work(path: Path) -> int:
    """Return the multiply-accumulate operations of a model at batch 1."""
    import perfc
    from perfc.ir.symbolic.evaluate import evaluate

    report = perfc.analyze(str(path), "a100", batch=1)
    return int(evaluate(report.cost.work.mac, report.env))


def table(folder: Path, graphs: Path | None) -> None:
    """Print the work of every model of a folder and of its ONNX file."""
    close: dict[str, list[bool]] = {}
    reference_macs: dict[Path, int] = {}
    print(f"{'model':36} {'format':10} {'MACs':>14} {'in ONNX':>14} {'difference':>10}")
    for path in sorted(folder.iterdir()):
        if path.suffix not in FORMATS:
            continue
        here = path.with_suffix(".onnx")
        reference = here if here.exists() or graphs is None else graphs / f"{path.stem}.onnx.gz"
        if not reference.exists():
            continue
        if reference not in reference_macs:
            reference_macs[reference] = work(reference)
        macs = work(path)
        difference = macs / reference_macs[reference] - 1
        kind = FORMATS[path.suffix]
        close.setdefault(kind, []).append(abs(difference) <= CLOSE)
        print(
            f"{path.stem:36} {kind:10} {macs:14} {reference_macs[reference]:14} {difference:10.2%}"
        )
    for kind, all_close in close.items():
        print(f"{kind}: {sum(all_close)} of {len(all_close)} within {CLOSE:.1%}")


def main() -> None:
    """Write models, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["keras", "jax", "openvino", "table"])
    parser.add_argument("folder", type=Path, help="folder of the models")
    parser.add_argument("--onnx", type=Path, help="folder of public ONNX graphs")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    match given.action:
        case "keras":
            make_keras(given.folder)
        case "jax":
            make_jax(given.folder)
        case "openvino" if given.onnx is None:
            parser.error("openvino needs --onnx, the folder of public ONNX graphs")
        case "openvino":
            make_openvino(given.folder, given.onnx)
        case _:
            table(given.folder, given.onnx)


if __name__ == "__main__":
    main()
