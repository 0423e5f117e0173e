"""Files of traces that several tests read."""

from __future__ import annotations

from pathlib import Path

from tests.measuring.trace import samples


def files(folder: Path) -> dict[str, Path]:
    """Write a trace of each format."""
    made = {name: folder / f"{name}.json" for name in samples.WRITERS}
    for name, sample in samples.WRITERS.items():
        made[name].write_text(samples.text_of(sample()), encoding="utf-8")
    made["nsys"] = folder / "nsys.sqlite"
    samples.nsys(made["nsys"])
    return made


def written(tmp_path: Path, trace: object, name: str = "trace.json") -> str:
    path = tmp_path / name
    path.write_text(samples.text_of(trace), encoding="utf-8")
    return str(path)
