"""What the dissertation measured, as printed there: chapter 3, each number with its place.

K. Panner Selvam, dissertation PhD-FSTM-2025-034, University of Luxembourg, chapter 3; first in
K. Panner Selvam and M. Brorsson, "Performance Analysis and Benchmarking of a Temperature
Downscaling Deep Learning Model", PDP 2023, doi 10.1109/PDP59025.2023.00010.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfc.deployment.prices.offers import all_offers

TARGETS = {"V100": "v100-sxm2-16gb", "A100": "a100-sxm4-40gb"}
"""Section 3.3.1.1: JUWELS cluster and booster, four GPUs a node."""
LAYOUT = "channels-last"
"""Order of the input and of feature maps in TensorFlow: height, width, channels."""

TRAINABLE, NON_TRAINABLE = 3_525_650, 3_360
"""Section 3.4.2."""
TIME_STEPS = 20_496
"""Training samples, section 3.2.1."""
EPOCHS = 70
"""Section 3.4.2."""


@dataclass(frozen=True)
class Sheet:
    """One column of table 3.1: flop/s and bytes."""

    f64: float
    f32: float
    tensor: float
    memory_bytes: float


SHEETS = {
    "V100": Sheet(7.8e12, 15.7e12, 125e12, 16 << 30),
    "A100": Sheet(9.7e12, 19.5e12, 312e12, 40 << 30),
}


@dataclass(frozen=True)
class Ceilings:
    """Section 3.3.2.1 and figures 3.3 to 3.5: measured ceilings in flop/s and bytes/s."""

    f32: float
    f16: float
    tensor: float
    device: float
    l2: float
    l1: float


CEILINGS = {
    "V100": Ceilings(15.5e12, 29.6e12, 101.2e12, 818.5e9, 2142.8e9, 13230.4e9),
    "A100": Ceilings(18.5e12, 58.8e12, 292.2e12, 1346e9, 3877.6e9, 19287.3e9),
}


@dataclass(frozen=True)
class Training:
    """One column of table 3.2."""

    epoch_s: float
    gpu_usage: float
    memory_usage: float
    power_w: float


TRAINING = {
    ("V100", 32, "single"): Training(40.07, 0.9053, 0.6324, 259.13),
    ("V100", 32, "mixed"): Training(26.34, 0.8186, 0.4441, 244.14),
    ("V100", 64, "single"): Training(38.66, 0.9138, 0.6613, 252.35),
    ("V100", 64, "mixed"): Training(24.78, 0.8355, 0.4752, 238.49),
    ("A100", 32, "single"): Training(21.53, 0.2238, 0.1406, 116.01),
    ("A100", 32, "mixed"): Training(18.52, 0.1927, 0.0725, 98.73),
    ("A100", 64, "single"): Training(20.39, 0.2246, 0.1494, 116.99),
    ("A100", 64, "mixed"): Training(16.98, 0.2202, 0.1072, 107.51),
}
"""Table 3.2, by GPU, batch size and precision."""
TENSOR_UTILISATION = {("V100", 64, "mixed"): 0.895, ("A100", 64, "mixed"): 0.317}
"""Section 3.4.2, by GPU, batch size and precision; it states no others."""

DISTRIBUTED_EPOCH_S = {("V100", 1): 32.8, ("V100", 4): 22.3, ("A100", 1): 22.88, ("A100", 4): 18.94}
"""Section 3.4.5, by GPU and number of GPUs; for two A100 section 3.4.3 states 19.3 s."""
TWO_A100_EPOCH_S = 19.3
DISTRIBUTED_TENSOR_UTILISATION = {"V100": 0.818, "A100": 0.269}
"""Section 3.4.3, four GPUs."""


@dataclass(frozen=True)
class Inference:
    """One column of table 3.3; None where the table says None."""

    wall_s: float
    tensor_utilisation: float | None
    gpu_utilisation: float


INFERENCE = {
    ("V100", "single"): Inference(0.09, None, 0.081),
    ("V100", "mixed"): Inference(0.051, 0.587, 0.032),
    ("A100", "single"): Inference(0.10, 0.161, 0.026),
    ("A100", "mixed"): Inference(0.037, 0.064, 0.011),
}
MIG_PROFILES = ((0.25, "7_5GB"), (0.50, "3_10GB"), (0.75, "2_20GB"), (1.0, "1_40GB"))
"""Section 3.4.4: the profile for a device used less than this; ``7_5GB`` is seven of 5 GB."""


@dataclass(frozen=True)
class Instance:
    """One row of table 3.4; its price is an entry of ``perfc/deployment/prices/prices``."""

    cloud: str
    name: str
    device: str
    gpus: int
    total_usd: float

    @property
    def usd_per_hour(self) -> float:
        """Of all its GPUs."""
        asked = {"NVIDIA A100": {4: ", 4"}, "NVIDIA V100": {4: ", 4"}}.get(self.name, {})
        name = self.name + asked.get(self.gpus, "")
        cloud = {"GCP": "google-cloud"}.get(self.cloud, self.cloud.lower())
        offer = next(
            o
            for o in all_offers()[""]
            if (o.cloud, o.instance) == (cloud, name) and "table 3.4" in o.source
        )
        return round(offer.per_hour * offer.gpus, 2)


INSTANCES = (
    Instance("AWS", "p4d.24xlarge", "A100", 8, 120.92),
    Instance("AWS", "p3.2xlarge", "V100", 1, 19.52),
    Instance("AWS", "p3.8xlarge", "V100", 4, 53.12),
    Instance("GCP", "NVIDIA A100", "A100", 1, 13.03),
    Instance("GCP", "NVIDIA A100", "A100", 4, 43.32),
    Instance("GCP", "NVIDIA V100", "V100", 1, 15.82),
    Instance("GCP", "NVIDIA V100", "V100", 4, 43.05),
    Instance("AZURE", "NC6s v3", "V100", 1, 19.52),
    Instance("AZURE", "NC24rs v3", "V100", 4, 58.41),
    Instance("AZURE", "NC24ads v4", "A100", 1, 16.33),
    Instance("AZURE", "NC96ads v4", "A100", 4, 54.20),
)
"""Table 3.4. The p4d row has eight A100 and the time of four."""
RUNS = 10
"""Section 3.4.5: ten trainings of 70 epochs."""
CPU_USD_PER_HOUR, CPU_S = 0.68, 5.15
"""Section 3.4.5: c5.4xlarge, one inference."""
INFERENCES = 10_000
INFERENCE_USD = {"c5.4xlarge": 9.724, "GCP A100": 0.301}


@dataclass(frozen=True)
class Dippm:
    """One row of table 4.5."""

    model: str
    batch: int
    profile: str
    predicted_mb: int
    actual_mb: int
    share: float
    """Share of the memory of the first slice that holds it."""

    @property
    def measured_mb(self) -> float:
        """Return the memory; of the share, if the table contradicts itself."""
        slice_mb = 1e3 * float(self.profile.partition(".")[2].removesuffix("gb"))
        by_share = self.share * slice_mb
        return by_share if self.actual_mb < 0.8 * by_share else float(self.actual_mb)


DIPPM = (
    Dippm("densenet121", 8, "1g.5gb", 2865, 3272, 0.58),
    Dippm("densenet121", 32, "2g.10gb", 5952, 6294, 0.60),
    Dippm("swin_base_patch4", 2, "1g.5gb", 2873, 2944, 0.52),
    Dippm("swin_base_patch4", 16, "2g.10gb", 6736, 6156, 0.59),
    Dippm("convnext_base", 4, "1g.5gb", 4771, 1652, 0.61),
    Dippm("convnext_base", 128, "7g.40gb", 26439, 30996, 0.77),
)
"""Table 4.5: profile and memory as predicted, the memory measured, and its share of a slice."""
TIMM_NAMES = {
    "densenet121": "densenet121",
    "swin_base_patch4": "swin_base_patch4_window7_224",
    "convnext_base": "convnext_base",
}
"""Names in timm of the networks of table 4.5."""
