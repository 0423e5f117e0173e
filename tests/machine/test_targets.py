"""The shipped target files: every number sourced, and no floor above what anybody measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfc.errors import TargetError
from perfc.ir.facts import Origin
from perfc.machine import (
    Unit,
    list_clusters,
    list_machines,
    load_machine,
    render_markdown,
    validate,
)
from perfc.machine.device_names import compact, without_memory
from perfc.machine.folders import SHIPPED

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(SHIPPED.glob("*.toml"))
NAMES = [f.stem for f in FILES]

# Best dense GEMM anybody is known to have run: Tflop/s. Publications as in the target files.
MEASURED_TFLOP_PER_S = [
    ("a100", Unit.MATRIX, "bf16", 298.98),
    ("a100", Unit.MATRIX, "i8", 585.70),
    ("a100", Unit.MATRIX, "f16", 292.2),
    ("a100-40gb", Unit.VECTOR, "f32", 18.5),
    ("a100-pcie-40gb", Unit.VECTOR, "f32", 19.07),
    ("v100-16gb", Unit.MATRIX, "f16", 101.2),
    ("v100-pcie-32gb", Unit.VECTOR, "f32", 14.01),
    ("p100", Unit.VECTOR, "f32", 8.916),
    ("t4", Unit.VECTOR, "f32", 7.04),
    ("h100", Unit.MATRIX, "bf16", 955.96),
    ("h100", Unit.MATRIX, "f8e4m3", 1600.6),
    ("h200", Unit.MATRIX, "bf16", 940.11),
    ("b200", Unit.MATRIX, "bf16", 2102.2),
    ("b200", Unit.MATRIX, "f4e2m1", 5298.0),
    ("rtx3090", Unit.MATRIX, "f16", 64.8),
    ("rtx4090", Unit.MATRIX, "f16", 156.0),
    ("rtx-pro-6000-max-q", Unit.MATRIX, "bf16", 241.8),
]

# Effective GB/s of GEMMs whose operands stay in the L2, beyond what device memory can give.
L2_RESIDENT_GB_PER_S = [("h100", 4578.4), ("h200", 4978.1), ("b200", 10610.5), ("a100", 1829.7)]


@pytest.fixture(autouse=True)
def no_user_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_shipped_file_has_nothing_wrong(path: Path) -> None:
    assert validate(path) == []
    assert load_machine(path).name == path.stem


def test_every_target_of_the_readme_is_shipped() -> None:
    wanted = (
        "a100 a100-sxm4-40gb a100-pcie-80gb a100-pcie-40gb v100 h100 h100-pcie-80gb h200 b200 l4 "
        "l40s t4 p100 rtx3090 rtx4090 rtx5090 rtx-pro-6000-max-q cpu generic-x86-64"
    )
    for name in wanted.split():
        assert load_machine(name).path.parent == SHIPPED, name
    assert load_machine("a100").name == "a100-sxm4-80gb"


def test_no_two_targets_share_a_name_or_an_alias() -> None:
    names = [n for t in list_machines() for n in (t.name, *t.aliases)]
    assert len(names) == len(set(names))


def test_a_name_is_found_however_it_is_separated_and_with_its_maker_and_memory() -> None:
    every = (*list_machines(), *list_clusters())
    forms: dict[str, set[str]] = {}
    for listing in every:
        for name in (listing.name, *listing.aliases):
            forms.setdefault(compact(name), set()).add(listing.name)
    shared = {form for form, names in forms.items() if len(names) > 1}
    assert shared == {"titanx", "gb200nvl72", "gb300nvl72"}
    for listing in every:
        for name in (listing.name, *listing.aliases):
            path = load_machine(name).path
            spelled = [name.upper(), name.replace("-", "_"), name.replace("-", " ")]
            if compact(name) not in shared:
                spelled += [name.replace("-", "")]
                # "CPU" after a name is a mark of drivers
                spelled += [f"NVIDIA {name}", f"Tesla_{name}"] if listing.kind != "cpu" else []
            for other in spelled:
                assert load_machine(other).path == path, other


def test_the_memory_in_a_name_is_that_of_the_target() -> None:
    for listing in list_machines():
        memory = load_machine(listing.name).level("device")
        if memory is None or listing.kind == "cpu":
            continue
        held_gb = round(memory.capacity_bytes / (1 << 30))
        for name in (listing.name, *listing.aliases):
            # two generations have the name of Titan X and 12 GB
            if without_memory(name)[1] == 0 and compact(name) != "titanx":
                path = load_machine(name).path
                assert load_machine(f"{name}-{held_gb}gb").path == path
                assert load_machine(f"{name} {held_gb} GiB").path == path
                with pytest.raises(TargetError, match="no such target"):
                    load_machine(f"{name}-777gb")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("rtx4060-ti", "rtx4060-ti-16gb"),
        ("h100-80gb", "h100-sxm5-80gb"),
        ("H100-PCIE-80G", "h100-pcie-80gb"),
        ("b200-192gb", "b200-sxm-180gb"),
        ("H200 141GB HBM3e", "h200-sxm-141gb"),
        ("gtx-1080 ti", "gtx1080ti"),
        ("A100 80GB/3g.40gb", "a100-sxm4-80gb/3g.40gb"),
    ],
)
def test_names_are_compared_by_rule(typed: str, name: str) -> None:
    assert load_machine(typed).name == name


@pytest.mark.parametrize("typed", ["titan x", "a100-sxm4", "a10-80gb", "80gb", "nvidia", "rtx4060"])
def test_a_name_of_several_targets_or_none_is_refused(typed: str) -> None:
    with pytest.raises(TargetError, match="no such target"):
        load_machine(typed)


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("NVIDIA B200", "b200-sxm-180gb"),
        ("Tesla V100-PCIE-32GB", "v100-pcie-32gb"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("Tesla V100-SXM3-32GB", "v100-sxm3-32gb"),
        ("Jetson Nano", "jetson-nano"),
        ("Jetson TX2", "jetson-tx2"),
        ("Jetson AGX Xavier", "jetson-agx-xavier"),
        ("Jetson Xavier NX", "jetson-xavier-nx"),
    ],
)
def test_the_name_a_driver_reports_finds_its_target(product: str, name: str) -> None:
    assert load_machine(product).name == name


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("xavier", "jetson-agx-xavier"),
        ("xavier-nx", "jetson-xavier-nx"),
        ("tx2", "jetson-tx2"),
        ("orin", "jetson-agx-orin-64gb"),
        ("orin-nx", "jetson-orin-nx-16gb"),
        ("orin-nano", "jetson-orin-nano-8gb"),
        ("2080ti", "rtx2080ti"),
        ("1080ti", "gtx1080ti"),
        ("VegaFE", "vega-frontier-edition"),
        ("mi25", "mi25"),
        ("k80", "k80-gpu"),
        ("gold_6226", "xeon-gold-6226"),
        ("gold_6240", "xeon-gold-6240"),
        ("silver_4114", "xeon-silver-4114"),
        ("silver_4210r", "xeon-silver-4210r"),
        ("i7-12700h", "core-i7-12700h"),
        ("i9-10940x", "core-i9-10940x"),
        ("xeon-sapphire-rapids", "xeon-platinum-8480plus"),
        ("xeon-platinum-8380", "xeon-platinum-8380"),
        ("epyc-7763", "epyc-7763"),
        ("epyc-genoa", "epyc-9654"),
        ("graviton3", "graviton3"),
        ("aws-graviton4", "graviton4"),
    ],
)
def test_what_people_type_finds_its_target(typed: str, name: str) -> None:
    assert load_machine(typed).name == name


def test_the_measured_ceilings_of_the_dissertation_stand_beside_the_vendors() -> None:
    expected = {
        "a100-sxm4-40gb": (18.5e12, 58.8e12, 292.2e12, 1346e9, 3877.6e9, 19287.3e9),
        "v100-sxm2-16gb": (15.5e12, 29.6e12, 101.2e12, 818.5e9, 2142.8e9, 13230.4e9),
    }
    for name, values in expected.items():
        m = load_machine(name)
        l1, l2, device = m.memory
        result = [
            m.sustained(Unit.VECTOR, "f32"),
            m.sustained(Unit.VECTOR, "f16"),
            m.sustained(Unit.MATRIX, "f16"),
            device.sustained,
            l2.sustained,
            l1.sustained,
        ]
        assert [r and r.value for r in result] == list(values)
        for rate in result:
            assert rate is not None
            assert rate.origin is Origin.MEASURED
            assert "dissertation" in m.cite(rate)


@pytest.mark.parametrize(("name", "unit", "dtype", "tflop_per_s"), MEASURED_TFLOP_PER_S)
def test_no_measurement_is_faster_than_the_peak(
    name: str, unit: Unit, dtype: str, tflop_per_s: float
) -> None:
    assert load_machine(name).peak(unit, dtype).value >= tflop_per_s * 1e12


@pytest.mark.parametrize(("name", "gb_per_s"), L2_RESIDENT_GB_PER_S)
def test_operands_in_the_l2_are_not_faster_than_its_bandwidth(name: str, gb_per_s: float) -> None:
    l2 = load_machine(name).level("l2")
    assert l2 is not None
    assert l2.bandwidth.value >= gb_per_s * 1e9


@pytest.mark.parametrize("name", NAMES)
def test_the_peak_covers_the_highest_clock(name: str) -> None:
    m = load_machine(name)
    clock = m.facts["device.clock_max_hz"].value
    for (unit, dtype), peak in m.compute.items():
        op = "op" if unit is Unit.SPECIAL else "flop"
        per_clock = m.facts.get(f"compute.{unit.value}.{dtype}.{op}_per_clock_per_sm")
        assert per_clock is not None or m.kind == "accelerator"
        if per_clock is not None:
            assert peak.peak.value >= per_clock.value * m.sm_count * clock * (1 - 1e-12)
        assert peak.peak.value >= peak.nominal.value
        assert peak.sustained is None or peak.sustained.value <= peak.peak.value


# The sheets of these have half of what units and clock allow.
RATED_AT_HALF = {("l40s", "i4"), ("a10g", "f16"), ("a10g", "i8"), ("a10g", "i4")}


@pytest.mark.parametrize("name", NAMES)
def test_the_data_sheet_agrees_with_the_architecture(name: str) -> None:
    """A sparse rate in a dense place, or a wrong SM count, would be off by far more."""
    m = load_machine(name)
    for (unit, dtype), peak in m.compute.items():
        key = f"compute.{unit.value}.{dtype}"
        is_rated = f"{key}.peak_flop_per_s" in m.facts and m.kind != "accelerator"
        if not is_rated or (name, dtype) in RATED_AT_HALF:
            continue
        ratio = m.facts[f"{key}.flop_per_clock_per_sm"].value * m.sm_count
        ratio *= m.facts["device.clock_boost_hz"].value / peak.nominal.value
        assert 0.985 < ratio < 1.1, (key, ratio)


# Cores × vector flop a clock × clock of one core, by hand: Tflop/s in f32.
CORES = [
    ("xeon-gold-6148", 20 * 64 * 3.7e-3),
    ("xeon-gold-5117", 14 * 32 * 2.8e-3),
    ("epyc-7763", 64 * 32 * 3.5e-3),
    ("graviton2", 64 * 16 * 2.5e-3),
    ("graviton3", 64 * 32 * 2.6e-3),
]


@pytest.mark.parametrize(("name", "tflop_per_s"), CORES)
def test_a_processor_does_at_most_what_all_its_cores_do(name: str, tflop_per_s: float) -> None:
    assert load_machine(name).peak(Unit.VECTOR, "f32").value == pytest.approx(tflop_per_s * 1e12)


def test_tiles_are_faster_than_the_vectors_of_the_same_processor() -> None:
    m = load_machine("xeon-sapphire-rapids")
    assert m.peak(Unit.MATRIX, "bf16").value == pytest.approx(56 * 1024 * 3.8e9)
    assert m.peak(Unit.MATRIX, "i8").value == 2 * m.peak(Unit.MATRIX, "bf16").value
    assert m.peak(Unit.MATRIX, "f32").value == m.peak(Unit.VECTOR, "f32").value


@pytest.mark.parametrize("name", NAMES)
def test_memory_that_states_its_pins_or_channels_gives_what_they_carry(name: str) -> None:
    """``256 bit at 4266 Mbit/s a pin``, ``6 channels of 2933 MT/s``: width × rate."""
    facts = load_machine(name).facts
    for key in ("bandwidth_bytes_per_s", "pin_bandwidth_bytes_per_s"):
        if (rate := facts.get(f"memory.device.{key}")) is None:
            continue
        if pins := re.match(r"([\d.]+) bit at ([\d.]+) (M|G)bit/s", rate.note):
            carried = float(pins[1]) * float(pins[2]) * {"M": 1e6, "G": 1e9}[pins[3]] / 8
        elif channels := re.match(r"(\d+) channels of (?:DDR5 at )?(\d+) MT/s", rate.note):
            carried = float(channels[1]) * float(channels[2]) * 8e6
        else:
            continue
        assert rate.value == pytest.approx(carried, rel=0.01), key


@pytest.mark.parametrize("name", NAMES)
def test_every_target_says_how_much_of_its_memory_can_be_allocated(name: str) -> None:
    device = load_machine(name).level("device")
    assert device is not None
    assert device.usable is not None
    # Metal lends the GPU two thirds or three quarters of the memory that it shares
    least = 0.66 if load_machine(name).kind == "gpu" or name == "radeon-8060s" else 0.9
    assert least <= device.usable_bytes / device.capacity_bytes < 1
    assert device.usable.origin in {Origin.MEASURED, Origin.ASSUMED}
    assert device.usable.note or device.usable.origin is Origin.MEASURED


USABLE_GIB = (
    ("l4", 22.03),
    ("t4", 14.56),
    ("a10", 22.06),
    ("l40s", 44.43),
    ("rtx4090", 23.55),
    ("a100-40gb", 39.39),
    ("a100-80gb", 79.14),
    ("h100", 79.18),
    ("h200", 139.8),
    ("mi300x", 191.98),
    ("a100-80gb/1g.10gb", 9.5),
    ("m2-max", 72),
    ("tpu-v5e", 15.75),
    ("gb10", 121.69),
)


@pytest.mark.parametrize(("name", "gib"), USABLE_GIB)
def test_usable_memory_is_the_total_that_pytorch_reports(name: str, gib: float) -> None:
    device = load_machine(name).level("device")
    assert device is not None
    assert device.usable_bytes / 2**30 == pytest.approx(gib, abs=0.005)


def test_rates_are_dense_and_of_the_right_card() -> None:
    h100 = load_machine("h100-pcie").compute[Unit.MATRIX, "f16"].nominal
    assert (h100.value, h100.origin) == (756e12, Origin.VENDOR)
    device = load_machine("a100-pcie-40gb").level("device")
    assert device is not None
    assert device.nominal.value == 1.555e12


def test_geforce_floors_take_fp16_accumulation() -> None:
    m = load_machine("rtx4090")
    f16, bf16 = m.compute[Unit.MATRIX, "f16"], m.compute[Unit.MATRIX, "bf16"]
    assert (f16.nominal.value, bf16.nominal.value) == (330.3e12, 165.2e12)
    assert "accumulation" in m.facts["compute.matrix.f16.flop_per_clock_per_sm"].note


@pytest.mark.parametrize("name", NAMES)
def test_every_number_names_its_source_and_guesses_say_why(name: str) -> None:
    m = load_machine(name)
    for key, rate in m.facts.items():
        assert rate.source in m.sources, key
        if rate.origin is Origin.ASSUMED and m.kind == "cuda":
            assert rate.note, key
    assert {r.source for r in m.facts.values()} == set(m.sources)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_shipped_file_cites_documents_not_addresses(path: Path) -> None:
    assert not re.search(r"https?://|www\.", path.read_text(encoding="utf-8"))


def test_the_page_of_targets_is_up_to_date() -> None:
    page = (ROOT / "docs" / "targets.md").read_text(encoding="utf-8")
    assert page == render_markdown(), "write perfc.machine.render_markdown() to docs/targets.md"
