"""Peak rates by the names that drivers print, against the makers' data sheets; utilization."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import perfc
from perfc.errors import PerfcError, TargetError
from perfc.ir.facts import Origin
from perfc.machine import Unit, list_machines, load_machine
from perfc.measuring.peaks import current_machine

# Name as torch.cuda.get_device_name, nvidia-smi, rocm-smi, JAX's device_kind, system_profiler or
# /proc/cpuinfo prints it; element type; dense Tflop/s of the document; sparse Tflop/s; document.
HOPPER = "NVIDIA H100 Tensor Core GPU datasheet and whitepaper"
AMPERE = "NVIDIA A100 Tensor Core GPU datasheet"
VOLTA = "NVIDIA V100 datasheet"
GA102 = "NVIDIA Ampere GA102 GPU architecture whitepaper, appendix A"
ADA = "NVIDIA Ada GPU architecture whitepaper, appendix A"
BLACKWELL = "NVIDIA RTX Blackwell GPU architecture whitepaper"
TURING = "NVIDIA Turing GPU architecture whitepaper"
SHEETS = [
    ("NVIDIA H100 80GB HBM3", "bf16", 989.4, 1979, HOPPER),
    ("NVIDIA H100 PCIe", "bf16", 756, 1513, HOPPER),
    ("NVIDIA H100 NVL", "bf16", 835.5, 1671, HOPPER),
    ("NVIDIA H200", "bf16", 989.5, 1979, "NVIDIA H200 datasheet"),
    ("NVIDIA H200 NVL", "bf16", 835.5, 1671, "NVIDIA H200 datasheet"),
    ("NVIDIA H800", "bf16", 989.5, 1979, "NVIDIA H800 datasheet"),
    ("NVIDIA H20", "bf16", 148, None, "NVIDIA H20 datasheet"),
    ("NVIDIA GH200 480GB", "bf16", 989.5, 1979, "NVIDIA GH200 datasheet, halved"),
    ("NVIDIA GH200 144G HBM3e", "bf16", 989.5, 1979, "NVIDIA GH200 datasheet, halved"),
    ("NVIDIA B200", "bf16", 2250, 4500, "NVIDIA HGX B200 datasheet, of 8"),
    ("NVIDIA B300 SXM6 AC", "bf16", 2250, 4500, "NVIDIA HGX B300 datasheet, of 8"),
    ("NVIDIA GB200", "bf16", 2500, 5000, "NVIDIA GB200 NVL72 datasheet, of 72"),
    ("NVIDIA GB300", "f4e2m1", 15000, 20000, "NVIDIA GB300 NVL72 datasheet, of 72"),
    ("NVIDIA GB10", "f4e2m1", 500, 1000, "NVIDIA DGX Spark datasheet"),
    ("NVIDIA A100-SXM4-40GB", "bf16", 312, 624, AMPERE),
    ("NVIDIA A100-SXM4-80GB", "tf32", 156, 312, AMPERE),
    ("A100-SXM4-40GB", "f16", 312, 624, AMPERE),
    ("A100-SXM-80GB", "f16", 312, 624, AMPERE),
    ("NVIDIA A100-PCIE-40GB", "bf16", 312, 624, AMPERE),
    ("NVIDIA A100 80GB PCIe", "i8", 624, 1248, AMPERE),
    ("NVIDIA A800-SXM4-80GB", "bf16", 312, 624, "NVIDIA A800 datasheet"),
    ("NVIDIA A2", "f16", 18, 36, "NVIDIA A2 datasheet"),
    ("NVIDIA A10", "bf16", 125, 250, "NVIDIA A10 datasheet"),
    ("NVIDIA A10G", "bf16", 70, 140, "NVIDIA A10G datasheet"),
    ("NVIDIA A30", "bf16", 165, 330, "NVIDIA A30 datasheet"),
    ("NVIDIA A40", "bf16", 149.7, 299.4, "NVIDIA A40 datasheet"),
    ("NVIDIA L4", "bf16", 121, 242, "NVIDIA L4 datasheet"),
    ("NVIDIA L20", "bf16", 119.5, None, "NVIDIA L20 datasheet"),
    ("NVIDIA L40", "bf16", 181.05, 362.1, "NVIDIA L40 datasheet"),
    ("NVIDIA L40S", "bf16", 362.05, 733, "NVIDIA L40S datasheet"),
    ("Tesla T4", "f16", 65, None, "NVIDIA T4 datasheet"),
    ("Tesla V100-SXM2-16GB", "f16", 125, None, VOLTA),
    ("Tesla V100-SXM2-32GB", "f16", 125, None, VOLTA),
    ("Tesla V100-SXM3-32GB", "f32", 15.7, None, VOLTA),
    ("Tesla V100-PCIE-16GB", "f16", 112, None, VOLTA),
    ("Tesla V100-PCIE-32GB", "f32", 14, None, VOLTA),
    ("Tesla P100-PCIE-16GB", "f16", 18.7, None, "NVIDIA P100 datasheet"),
    ("Tesla P4", "f32", 5.5, None, "NVIDIA P4 datasheet"),
    ("Tesla K80", "f32", 4.365, None, "NVIDIA K80 datasheet, of its two GPUs at 8.73"),
    ("NVIDIA RTX A6000", "bf16", 154.8, 309.7, GA102),
    ("NVIDIA RTX A5000", "bf16", 111.1, 222.2, "NVIDIA RTX A5000 datasheet, halved"),
    ("NVIDIA RTX A4000", "bf16", 76.7, 153.4, "NVIDIA RTX A4000 datasheet, halved"),
    ("NVIDIA RTX 6000 Ada Generation", "bf16", 364.25, 728.5, ADA),
    ("NVIDIA RTX 4000 Ada Generation", "bf16", 106.8, 213.6, "NVIDIA RTX 4000 Ada datasheet"),
    ("NVIDIA GeForce RTX 3060", "f32", 12.7, None, "NVIDIA GeForce RTX 3060 specification"),
    ("NVIDIA GeForce RTX 3080", "f16", 119, 238, GA102),
    ("NVIDIA GeForce RTX 3090", "bf16", 71, 142, GA102),
    ("NVIDIA GeForce RTX 4070 Ti", "f32", 40.1, None, ADA),
    ("NVIDIA GeForce RTX 4080", "f16", 194.9, 389.9, ADA),
    ("NVIDIA GeForce RTX 4090", "bf16", 165.2, 330.4, ADA),
    ("NVIDIA GeForce RTX 5080", "f16", 225.1, 450.2, BLACKWELL),
    ("NVIDIA GeForce RTX 5090", "bf16", 209.5, 419, BLACKWELL),
    ("GeForce RTX 2080 Ti", "f16", 107.6, None, TURING),
    ("Quadro RTX 6000", "f16", 130.5, None, TURING),
    ("Quadro RTX 8000", "f16", 130.5, None, TURING),
    ("NVIDIA TITAN RTX", "f16", 130.5, None, TURING),
    ("NVIDIA TITAN Xp", "f32", 12.15, None, "NVIDIA TITAN Xp specification"),
    ("NVIDIA TITAN X (Pascal)", "f32", 10.97, None, "NVIDIA TITAN X specification"),
    ("GeForce GTX 1080 Ti", "f32", 11.34, None, "NVIDIA GeForce GTX 1080 Ti specification"),
    ("AMD Instinct MI300X", "bf16", 1307.4, 2614.9, "AMD Instinct MI300X data sheet"),
    ("AMD Instinct MI300X OAM", "f8e4m3", 2614.9, 5229.8, "AMD Instinct MI300X data sheet"),
    ("AMD Instinct MI325X", "bf16", 1307.4, 2614.9, "AMD Instinct MI325X data sheet"),
    ("AMD Instinct MI350X", "bf16", 2306.9, 4613.7, "AMD Instinct MI350X data sheet"),
    ("AMD Instinct MI355X", "f4e2m1", 10066.3, None, "AMD Instinct MI355X data sheet"),
    ("AMD Instinct MI250X", "bf16", 191.5, None, "AMD Instinct MI250X data sheet, of two dies"),
    ("AMD Instinct MI210", "bf16", 181, None, "AMD Instinct MI210 brochure"),
    ("AMD Instinct MI100", "bf16", 92.3, None, "AMD Instinct MI100 brochure"),
    ("Apple M1", "f32", 2.6, None, "Apple, M1 announcement"),
    ("Apple M1 Pro", "f32", 5.2, None, "Apple, M1 Pro announcement"),
    ("Apple M1 Max", "f32", 10.4, None, "Apple, M1 Max announcement"),
    ("Apple M2", "f32", 3.6, None, "Apple, M2 announcement"),
    ("TPU v5 lite", "bf16", 197, None, "Google Cloud, TPU v5e"),
    ("TPU v5", "bf16", 459, None, "Google Cloud, TPU v5p"),
    ("TPU v5p", "bf16", 459, None, "Google Cloud, TPU v5p"),
    ("TPU v6 lite", "bf16", 918, None, "Google Cloud, TPU v6e"),
    ("TPU7x", "bf16", 2307, None, "Google Cloud, TPU7x"),
    ("HL-225", "bf16", 432, None, "Intel Gaudi 2 white paper"),
]


def test_sixty_devices_at_least_are_checked() -> None:
    assert len({name for name, *_ in SHEETS}) >= 60
    assert all(sheet for *_, sheet in SHEETS)


@pytest.mark.parametrize(
    ("name", "dtype", "dense", "sparse"), [s[:4] for s in SHEETS], ids=[s[0] for s in SHEETS]
)
def test_peak_is_that_of_the_data_sheet(
    name: str, dtype: str, dense: float, sparse: float | None
) -> None:
    rate = perfc.peak(name, dtype)
    assert rate.dense_flop_per_s / 1e12 == pytest.approx(dense, rel=0.002)
    assert rate.origin is Origin.VENDOR
    assert rate.source
    assert rate.boost_flop_per_s >= rate.dense_flop_per_s
    if sparse is not None:
        assert rate.sparse_flop_per_s is not None
        assert rate.sparse_flop_per_s / 1e12 == pytest.approx(sparse, rel=0.005)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090 D", "rtx-4090"),
        ("NVIDIA H800 PCIe", "h800"),
        ("AMD Instinct MI300A", "mi300x"),
        ("Apple M9 Max", "m5-max"),
        ("NVIDIA Graphics Device", ""),
        ("x" * 5000, ""),
        ("", ""),
    ],
)
def test_unknown_device_is_an_error_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(TargetError, match=f"no such target.*{nearest}"):
        perfc.peak(name)


def test_power_limits_distinguish_variants() -> None:
    watts = [perfc.peak(f"NVIDIA H100 {v}").power_w for v in ("80GB HBM3", "NVL", "PCIe")]
    assert watts == [700, 400, 350]


def test_a_type_that_a_device_lacks_has_no_peak() -> None:
    with pytest.raises(TargetError, match=r"t4 for bf16 \(it has rates for .*f16"):
        perfc.peak("Tesla T4", "bfloat16")
    with pytest.raises(PerfcError, match="no element type 'quux'"):
        perfc.peak("Tesla T4", "quux")


def test_f32_excludes_tf32_and_names_of_types_are_common_ones() -> None:
    full, rounded = perfc.peak("a100", "torch.float32"), perfc.peak("a100", "tf32")
    assert (full.dense_flop_per_s, full.unit) == (19.5e12, Unit.VECTOR)
    assert rounded.dense_flop_per_s == 156e12
    assert perfc.peak("a100", "fp16") == perfc.peak("NVIDIA A100-SXM4-80GB", "half")


def test_sparse_rates_are_at_most_twice_the_dense() -> None:
    seen = 0
    for listed in list_machines():
        machine = load_machine(listed.name)
        for (unit, dtype), entry in machine.compute.items():
            sparse = machine.facts.get(f"compute.{unit.value}.{dtype}.sparse_flop_per_s")
            if sparse is not None:
                seen += 1
                assert 1 < sparse.value / entry.nominal.value < 2.03, (machine.name, dtype)
    assert seen > 250


def test_mig_slice_has_its_share() -> None:
    whole, slice_ = (perfc.peak(f"NVIDIA A100-SXM4-40GB{s}") for s in ("", " MIG 3g.20gb"))
    assert slice_.target == "a100-sxm4-40gb/3g.20gb"
    assert 0.3 < slice_.dense_flop_per_s / whole.dense_flop_per_s < 0.5


def test_mfu_is_the_share_of_the_dense_peak() -> None:
    assert perfc.mfu(989.4e12, 2.0, "NVIDIA H100 80GB HBM3") == pytest.approx(0.5)
    assert perfc.mfu(65e12, 1.0, "Tesla T4", dtype="f16", count=4) == pytest.approx(0.25)
    for wrong in ((-1.0, 1.0), (float("nan"), 1.0), (1.0, 0.0), (1.0, float("inf"))):
        with pytest.raises(ValueError, match="must be a finite"):
            perfc.mfu(*wrong, "a100")


def a_torch(name: str, count: int) -> SimpleNamespace:
    """Return what `current_machine` reads of PyTorch on a GPU."""
    properties = SimpleNamespace(name=name, multi_processor_count=count)
    cuda = SimpleNamespace(
        is_available=lambda: True,
        current_device=lambda: 0,
        get_device_properties=lambda index: properties,
    )
    return SimpleNamespace(cuda=cuda)


def test_the_device_of_the_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", a_torch("NVIDIA H100 PCIe", 114))
    assert current_machine().name == "h100-pcie-80gb"
    monkeypatch.setitem(sys.modules, "torch", a_torch("NVIDIA H100 80GB HBM3", 114))
    with pytest.raises(TargetError, match="has 114 multiprocessors, h100-sxm5-80gb has 132"):
        perfc.mfu(1e12, 1.0)
    tpu = SimpleNamespace(device_kind="TPU v6 lite")
    jax = SimpleNamespace(default_backend=lambda: "tpu", devices=lambda: [tpu])
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "jax", jax)
    assert current_machine().name == "tpu-v6e"
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(TargetError, match="uses no GPU or TPU"):
        current_machine()
