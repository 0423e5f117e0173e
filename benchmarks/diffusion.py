"""Published generations of images and videos against what ``perfc diffusion`` says of them.

    python benchmarks/diffusion.py DATA [--write]

Rows are ML.ENERGY's of one GPU (``mlenergy.parquet``): those of several name no way in which the
work was divided. Each family of models is left out in turn: the law that tells it rests on the
others. Needs diffusers and PyTorch; parts are exported once, which takes minutes. ``--write``
writes the law of all rows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

import pandas as pd
from scipy.stats import t

from perfc.frontend.diffusion import read_pipeline
from perfc.machine import load_machine
from perfc.serving.generation import diffusion
from perfc.serving.generation.law import FILE, Law, architecture
from perfc.serving.generation.service import GenerationReport

PIPELINES = {
    "PixArt-alpha/PixArt-Sigma-XL-2-1024-MS": "pixart-sigma-xl-2-1024",
    "Efficient-Large-Model/SANA1.5_1.6B_1024px_diffusers": "sana1.5-1.6b-1024",
    "Efficient-Large-Model/SANA1.5_4.8B_1024px_diffusers": "sana1.5-4.8b-1024",
    "Wan-AI/Wan2.1-T2V-1.3B-Diffusers": "wan2.1-t2v-1.3b",
    "zai-org/CogVideoX-2b": "cogvideox-2b",
}
TARGETS = {"H100": "h100-sxm5-80gb", "B200": "b200-sxm-180gb"}
LAUNCHES_S = (4e-6, 6e-6, 8e-6, 1e-5, 1.2e-5, 1.5e-5, 1.8e-5)
"""Candidates of the least time of a launch."""
FACTORS = tuple(1 + step / 20 for step in range(61))
"""Candidates of the factor of fused attention."""
PLAIN = Law({}, sorted(TARGETS.values()), 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0, 0)
"""The kernels' own sums."""


@dataclass(frozen=True, eq=False)
class Row:
    """A published generation and the sums of its kernels.

    Args:
        model: name of its pipeline.
        target: name of its machine.
        batch: pictures at once.
        time_s: of the batch, measured.
        energy_j: of a picture, measured.
        plain: analysis with the sums of the kernels as they are.
    """

    model: str
    target: str
    batch: int
    time_s: float
    energy_j: float
    plain: GenerationReport

    @property
    def family(self) -> str:
        """Return the models of one design."""
        return self.model[:4]  # pixa, sana, wan2, cogv

    @property
    def architecture(self) -> str:
        """Return the architecture of its machine."""
        return architecture(load_machine(self.target))

    @property
    def is_image(self) -> bool:
        """Return True if one frame is made."""
        return self.plain.picture.frames == 1

    def predicted_s(self, law: Law) -> float:
        """Return the time of the batch by a law."""
        factor = law.factors.get(self.architecture) or mean(list(law.factors.values()))
        return math.fsum(
            [
                p.calls * max(p.call_s + (factor - 1) * p.attention_s, law.launch_s * p.launches)
                for p in self.plain.parts
            ]
        )

    def predicted_j(self, law: Law) -> float:
        """Return the energy of a picture by a law: mean kernel power over the predicted time."""
        plain = self.plain.energy
        if plain is None:
            return math.nan
        return law.energy * plain.energy_j * self.predicted_s(law) / self.plain.time_s


def mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(math.log(v) for v in values))


def rows(data: Path, only: str) -> Iterator[Row]:
    """Yield the generations on one GPU of the pipelines that perfc ships."""
    frame = pd.read_parquet(data / "mlenergy.parquet")
    frame = frame[frame["batch_latency_s"].notna() & (frame["num_gpus"] == 1)]
    for row in frame.itertuples():
        name, target = PIPELINES.get(str(row.model_id), ""), TARGETS.get(str(row.gpu_model), "")
        if not name or not target or not name.startswith(tuple(only.split(","))):
            continue
        # not a number (unequal to itself) in rows of videos
        joules = row.energy_per_image_joules
        energy = joules if joules == joules else row.energy_per_video_joules
        plain = summed(name, target, int(row.batch_size), int(row.inference_steps))
        yield Row(
            name, target, int(row.batch_size), float(row.batch_latency_s), float(energy), plain
        )


@cache
def summed(name: str, target: str, batch: int, steps: int) -> GenerationReport:
    """Return the sums of the kernels alone."""
    return diffusion(read_pipeline(name), target, batch=batch, steps=steps, by=PLAIN)


def fitted(known: Sequence[Row]) -> Law:
    """Return the law whose errors are least, each family counting the same."""
    laws = [fitted_with(known, launch_s) for launch_s in LAUNCHES_S]
    best = min(laws, key=lambda law: wrong(known, law))
    energy = mean([r.energy_j / r.predicted_j(best) for r in known])
    return replace(best, energy=energy, models=len({r.model for r in known}))


def fitted_with(known: Sequence[Row], launch_s: float) -> Law:
    """Return the best factors of attention with a time per launch."""
    law = replace(PLAIN, launch_s=launch_s, rows=len(known))
    factors: dict[str, float] = {}
    for name in sorted({r.architecture for r in known}):
        on_machine = [r for r in known if r.architecture == name]
        errors = [
            (wrong(on_machine, replace(law, factors={name: factor})), factor) for factor in FACTORS
        ]
        factors[name] = min(errors)[1]
    return replace(law, factors=factors)


def wrong(known: Sequence[Row], law: Law) -> float:
    """Return the mean error of a law's logarithms, each family counting the same."""
    return statistics.fmean(
        statistics.fmean(abs(math.log(r.predicted_s(law) / r.time_s)) for r in of)
        for of in families(known)
    )


def families(known: Sequence[Row]) -> list[list[Row]]:
    """Return the rows by family."""
    ordered = sorted(known, key=lambda r: r.family)
    return [list(of) for _, of in itertools.groupby(ordered, key=lambda r: r.family)]


def left_out(known: Sequence[Row]) -> list[tuple[Row, Law]]:
    """Return every row with the law of the other families."""
    return [
        (row, fitted([r for r in known if r.family != row.family]))
        for of in families(known)
        for row in of
    ]


def machines_left_out(known: Sequence[Row]) -> list[tuple[Row, Law]]:
    """Return every row with the law of the other machines and families."""
    return [
        (row, fitted([r for r in known if r.family != row.family and r.target != row.target]))
        for row in known
    ]


def reach(pairs: Sequence[tuple[Row, Law]], *, of_energy: bool = False) -> float:
    """Return the 90 % bound of log errors: of these rows, and of another family like these.

    The second is Student's t: families are few, and errors within one are correlated.
    """
    wrong = [off(row, law, of_energy=of_energy) for row, law in pairs]
    ordered = sorted(map(abs, wrong))
    # conformal quantile: the 0.9 (n + 1)-th of n absolute errors
    most = ordered[min(len(ordered) - 1, math.ceil(0.9 * (len(ordered) + 1)) - 1)]
    mean_errors = [
        statistics.fmean(off(row, law, of_energy=of_energy) for row, law in pairs if row in of)
        for of in families([row for row, _ in pairs])
    ]
    deviation = math.sqrt(statistics.fmean(one * one for one in mean_errors))
    # 95 % on one side are 90 % on both
    return max(most, float(t.ppf(0.95, len(mean_errors) - 1)) * deviation)


def off(row: Row, law: Law, *, of_energy: bool) -> float:
    """Return the logarithm of predicted over measured."""
    if of_energy:
        return math.log(row.predicted_j(law) / row.energy_j)
    return math.log(row.predicted_s(law) / row.time_s)


def line(name: str, pairs: Sequence[tuple[Row, Law]]) -> str:
    """Return the errors of some rows."""
    times = [row.predicted_s(law) / row.time_s for row, law in pairs]
    joules = [row.predicted_j(law) / row.energy_j for row, law in pairs]
    plain = statistics.fmean(abs(row.plain.time_s / row.time_s - 1) for row, _ in pairs)
    floors = sum(row.plain.floor_s <= row.time_s for row, _ in pairs)
    return (
        f"{name:44s} {len(pairs):3d} rows: time {error(times)}, bias {mean(times) - 1:+.1%}; "
        f"energy {error(joules)}; kernels' sums {plain:.1%}; {floors} at or above their floor"
    )


def error(ratios: Sequence[float]) -> str:
    """Return mean and median of predicted over measured."""
    wrong = [abs(r - 1) for r in ratios]
    return f"{statistics.fmean(wrong):5.1%} mean, {statistics.median(wrong):5.1%} median"


def write(law: Law, path: Path) -> None:
    """Write the law in the format of the file that ships."""
    lines = ["# Generations by diffusers; written by benchmarks/diffusion.py."]
    names = [f.name for f in fields(law) if f.name not in ("factors", "targets")]
    lines += [f"{name} = {getattr(law, name):.4g}" for name in names]
    lines += [f"targets = {json.dumps(law.targets)}", "[factors]"]
    lines += [f"{name} = {factor:.4g}" for name, factor in sorted(law.factors.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the tables")
    parser.add_argument("--only", default="", help="beginnings of pipelines' names, with commas")
    parser.add_argument("--write", action="store_true", help="the law of all rows")
    options = parser.parse_args()
    generations = list(rows(options.data, options.only))
    pairs = left_out(generations)
    for name in sorted({r.model for r in generations}):
        for target in sorted({r.target for r in generations}):
            chosen = [p for p in pairs if (p[0].model, p[0].target) == (name, target)]
            print(line(f"{name} on {target}", chosen))
    print(line("images, family left out", [p for p in pairs if p[0].is_image]))
    if any(not r.is_image for r in generations):
        print(line("videos, family left out", [p for p in pairs if not p[0].is_image]))
    elsewhere = machines_left_out(generations)
    print(line("all, family and machine left out", elsewhere))
    law = replace(
        fitted(generations),
        seen=reach(pairs),
        unseen=reach(elsewhere),
        energy_seen=reach(pairs, of_energy=True),
        energy_unseen=reach(elsewhere, of_energy=True),
    )
    print(law)
    if options.write:
        write(law, FILE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
