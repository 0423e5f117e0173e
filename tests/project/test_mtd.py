"""The dissertation's experiments run from a fresh clone and print its numbers beside ours.

Each script runs in a process of its own: they define operators.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import perfc

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "mtd"
MODEL = FOLDER / "unet.onnx.gz"
MODULES = {"tables", "thesis", "campaign"}
MEASURED = {"conv2d"}
"""Scripts that measure where they run, and take a minute."""
EXPECTED = {
    "network": [r"3,525,650 trainable and 3,360 other parameters"],
    "operators": [
        r"half b32 s3 k3 f56 +4\.86",
        r"half precision outperforms single \(A100, backward\) +batch, fig\. 3\.5 .* yes",
        r"grows with the kernel \(A100, backward, single\) .* yes",
        r"poor L1 locality \(A100 backward, single\) +kernel, fig\. 3\.6b",
        r"\d+ of 24 follow from counts",
    ],
    "conclusions": [
        r"half precision outperforms single \(V100, forward\) +[\d.]+ [\d.]+ yes +23\.6 40\.4 yes",
        r"predicted 12 of\s+24; measured 6 of 8 and 15 of 24",
        r"112 fwd fp16 +4 +119 +70 %",
    ],
    "machines": [
        r"V100 tensor cores, Tflop/s +125\.0 +125\.0",
        r"A100 memory, GiB +40\.0 +40\.0",
        r"A100 tensor cores +292,200\.0 +292,200\.0",
    ],
    "training": [
        r"parameters: 3,525,650 trainable, 3,360 others",
        r"V100 single 32 +[\d.]+ +[\d.]+ +40\.07 +[\d.]+ % +90\.5 %",
        r"A100 mixed 64 .* 16\.98 .* 22\.0 % .* 10\.7 % .* 31\.7 %",
    ],
    "distributed": [
        r"26\.9\s+% measured on four",
        r"4 x V100 .* 22\.30",
        r"4 x A100 .* 18\.94",
        r"2 x A100 .* 19\.30",
    ],
    "slices": [
        r"1g\.5gb +14 +7 .* yes",
        r"thesis, 3\.4\.4 +7_5GB",
        r"DIPPM, eq\. 4\.2 +1g\.5gb",
        r"convnext_base 128 +7g\.40gb +26439 +7g\.40gb",
    ],
    "energy": [r"V100 single 32 .* 259", r"A100 mixed 64 .* 5\.1 +17\.0 +108", r"CO2"],
    "inference": [
        r"V100 single .* 8\.1 %",
        r"A100 mixed .* 6\.4 % +7_5GB +7_5GB",
        r"0\.35\s+\(A100\s+single\)",
    ],
    "cloud_cost": [
        r"AWS p3\.2xlarge +1 x V100 +3\.06 +6\.38 +19\.52 +19\.52",
        r"c5\.4xlarge, measured +5\.15 s +9\.724 +9\.7278",
        r"GCP A100, measured +37 ms +0\.301 +0\.3011",
    ],
}


def ran(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{FOLDER}"}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def computed(code: str) -> object:
    return json.loads(ran("-c", f"import json\n{code}\nprint(json.dumps(found))"))


def test_every_script_is_run_here() -> None:
    assert {p.stem for p in FOLDER.glob("*.py")} == set(EXPECTED) | MODULES | MEASURED


@pytest.mark.parametrize("name", [n for n in EXPECTED if n != "network"])
def test_a_level_prints_the_thesis_beside_ours(name: str) -> None:
    path = FOLDER / f"{name}.py"
    assert f"python examples/mtd/{name}.py" in path.read_text(encoding="utf-8")
    out = ran(str(path))
    for pattern in EXPECTED[name]:
        assert re.search(pattern, out), out


@pytest.mark.speed
@pytest.mark.parametrize("name", [n for n in EXPECTED if n != "network"])
def test_a_level_takes_less_than_ten_seconds(name: str) -> None:
    before = os.times()
    ran(str(FOLDER / f"{name}.py"))
    assert os.times().children_user - before.children_user < 10


def test_the_network_has_the_parameters_of_the_thesis() -> None:
    found = computed(
        "import network, gzip\n"
        "same = gzip.decompress(network.PATH.read_bytes()) == network.model().SerializeToString()\n"
        "found = [*network.parameters(), same]"
    )
    assert found == [3_525_650, 3_360, True]


def test_the_network_maps_three_grids_to_two() -> None:
    types = perfc.infer_shapes(MODEL, {"batch": 2})
    assert str(types["x"]) == "f32[2, 3, 96, 128]"
    assert [str(types[n]) for n in ("output_temp", "output_z")] == ["f32[2, 1, 96, 128]"] * 2
    assert MODEL.stat().st_size < 5_000


def test_multiply_accumulates_of_the_network_are_those_of_its_layers() -> None:
    c, grid = 56, 96 * 128
    mac = 9 * (3 * c + c * c) + 2 * c
    for i in range(3):
        f = c << i
        # one convolution to twice the channels on a quarter of the grid, and its way back
        mac += (9 * f * 2 * f + 4 * 2 * f * f) // 4 ** (i + 1)
        mac += (9 * 2 * f * f + 9 * f * f) // 4**i
    report = perfc.analyze(MODEL, "a100", dims={"batch": 1})
    assert report.cost.work.at({"batch": 1}).mac == grid * mac


def test_backward_multiplies_twice_as_often_as_forward_but_for_the_input() -> None:
    forward, backward, first = computed(  # type: ignore[misc]
        "import tables\n"
        "r = tables.step('V100', 32, 'single')\n"
        "sums = {p: 0 for p in tables.PHASES}\n"
        "for k in r.roofline.kernels:\n"
        "    sums[k.kernel.anchor.loc.phase.value] += k.counts.mac\n"
        "first = next(k.counts.mac for k in r.roofline.kernels\n"
        "    if k.kernel.anchor.name.endswith('encoder1.0.conv'))\n"
        "assert not r.cost.is_bound\n"
        "found = [sums['forward'], sums['backward'], first]"
    )
    assert backward == 2 * forward - first


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_sweep_counts_every_window(direction: str) -> None:
    found = computed(
        "import operators as o\n"
        "from dataclasses import astuple\n"
        "cases = {c for cs in o.SWEEP.values() for c in cs}\n"
        f"found = [[*astuple(c), o.result('A100', c, '{direction}', 'half').flop] for c in cases]"
    )
    assert isinstance(found, list)
    assert len(found) == 10
    for batch, stride, kernel, filters, flop in found:
        windows = ((128 - kernel) // stride + 1) * ((96 - kernel) // stride + 1)
        once = 2 * batch * windows * filters * 112 * kernel**2
        assert flop == once * (2 if direction == "backward" else 1)


SMALL = "import operators as o; o.HEIGHT, o.WIDTH, o.CHANNELS = 32, 24, 4\n"


def test_the_sweep_is_measured_where_it_runs() -> None:
    pytest.importorskip("torch")
    out = ran(
        "-c",
        f"import sys\n{SMALL}import conv2d\n"
        "sys.argv[1:] = ['--factor', 'kernel', '--least', '0.001']\nconv2d.main()",
    )
    assert re.search(r"backward single b32 s3 k7 f56 +\d+\.\d+ +\d+\.\d+", out)
    assert re.search(r"\d of 2 hold on this machine", out)


def test_a_measured_backward_pass_gives_both_gradients() -> None:
    pytest.importorskip("torch")
    shapes = computed(
        f"{SMALL}import conv2d, torch\n"
        "kept = []\n"
        "whole = torch.ops.aten.convolution_backward\n"
        "def noted(*a):\n    kept.extend(whole(*a)[:2])\n    return kept\n"
        "torch.ops.aten.convolution_backward = noted\n"
        "conv2d.runs('cpu', o.BASE, 'single')['backward']()\n"
        "found = [list(t.shape) for t in kept]"
    )
    assert shapes == [[32, 4, 32, 24], [56, 4, 3, 3]]


def test_charts_are_refused_before_the_sweep_where_nothing_draws() -> None:
    code = "import sys; sys.modules['vl_convert'] = None; sys.argv[1:] = ['--svg', 'x']"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport operators; operators.main()"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{FOLDER}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "pip install" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_floor_is_below_every_measured_epoch() -> None:
    rows = computed(
        "import tables, thesis\n"
        "found = []\n"
        "for gpu, batch, precision in tables.pairs():\n"
        "    r, m = tables.step(gpu, batch, precision), thesis.TRAINING[gpu, batch, precision]\n"
        "    floor = r.roofline.floor_s * thesis.TIME_STEPS / batch\n"
        "    found.append([floor, m.epoch_s * m.gpu_usage])"
    )
    assert isinstance(rows, list)
    assert len(rows) == 8
    assert all(floor < busy for floor, busy in rows)


def test_a_profile_is_chosen_by_utilisation() -> None:
    found = computed(
        "from inference import profile\n"
        "found = [profile(u) for u in (0.011, 0.249, 0.25, 0.5, 0.75, 1.0)]"
    )
    assert found == ["7_5GB", "7_5GB", "3_10GB", "2_20GB", "1_40GB", "1_40GB"]


def test_the_readme_names_every_script() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in {*EXPECTED, *MEASURED, *MODULES}:
        assert f"`{name}.py`" in text
