"""Networks of Flax: modules and lines of code for their time, by name and from exports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.frontend.reading.module_name import NamedModule
from perfc.view.report.sections.kernels import collect

pytest.importorskip("flax")
NETWORKS = """
import jax.numpy as jnp
from flax import linen, nnx


class Block(linen.Module):
    width: int

    @linen.compact
    def __call__(self, x):
        y = linen.Conv(self.width, (3, 3), 2, name="first")(x)
        y = linen.relu(linen.LayerNorm()(y))
        return y + linen.Conv(self.width, (1, 1), 2, name="down")(x)


class Convolutional(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.Conv(32, (7, 7), 2, name="stem")(x)
        for i in range(3):
            x = Block(64 * 2**i, name=f"block{i}")(x)
        return linen.softmax(linen.Dense(10, name="head")(jnp.mean(x, (1, 2))))


class Layer(nnx.Module):
    def __init__(self, width, rngs):
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.qkv = nnx.Linear(width, 3 * width, rngs=rngs)
        self.out = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        q, k, v = jnp.split(self.qkv(self.norm(x)), 3, -1)
        return x + self.out(nnx.softmax(q @ k.swapaxes(1, 2)) @ v)


class Encoder(nnx.Module):
    def __init__(self):
        rngs = nnx.Rngs(0)
        self.layers = nnx.List([Layer(256, rngs) for _ in range(3)])
        self.head = nnx.Linear(256, 100, rngs=rngs)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return nnx.relu(self.head(x))


encoder = Encoder()


def encoded(x):
    return encoder(x)
"""
INPUTS = {"Convolutional": "4x64x64x3", "Encoder": "2x128x256", "encoded": "2x128x256"}


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the networks."""
    (tmp_path / "flax_networks.py").write_text(NETWORKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def shares(model: Any) -> tuple[float, float]:
    """Return the shares of the time whose kernels have a module's path, and a line of code."""
    rows = collect(perfc.analyze(model, "a100", runtime="xla"))
    whole = sum(r.roofline_time_s for r in rows)
    named = sum(r.roofline_time_s for r in rows if any("/" in n[1:] for n in r.nodes))
    return named / whole, sum(r.roofline_time_s for r in rows if r.frames) / whole


@pytest.mark.parametrize("name", INPUTS)
def test_time_by_name_has_modules_and_lines(name: str, networks: Path) -> None:
    source = f"flax_networks:{name}"
    model = NamedModule(source, (INPUTS[name],), folder=str(networks), is_jax=True)
    assert min(shares(model)) >= 0.98


@pytest.mark.parametrize("suffix", [".jax", ".mlir"])
def test_time_of_an_export_has_modules_and_lines(suffix: str, networks: Path) -> None:
    jax: Any = pytest.importorskip("jax")
    network = sys.modules.setdefault("flax_networks", __import__("flax_networks")).Convolutional()
    image = jax.ShapeDtypeStruct((4, 64, 64, 3), "float32")
    variables = jax.eval_shape(network.init, jax.random.key(0), image)
    made = jax.export.export(jax.jit(network.apply))(variables, image)
    path = networks / f"network{suffix}"
    path.write_bytes(made.serialize() if suffix == ".jax" else made.mlir_module().encode())
    assert min(shares(str(path))) >= 0.98


def test_a_text_without_locations_has_no_lines(networks: Path) -> None:
    jax: Any = pytest.importorskip("jax")
    call = jax.jit(lambda x: jax.nn.relu(x @ x))
    path = networks / "plain.mlir"
    path.write_text(call.lower(jax.ShapeDtypeStruct((64, 64), "float32")).as_text())
    rows = collect(perfc.analyze(str(path), "a100", runtime="xla"))
    assert not any(r.frames for r in rows)
    assert rows[0].nodes[0].startswith("dot_general")
