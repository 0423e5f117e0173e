"""Pack results into one small file of JSON lines, and unpack them on another machine.

A line has the content of one file: the result of a training without the fields that the page does
not show, the measured inference, or the card or the summaries of the stages.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from perfc.analyzers.graph.store import write_file
from perfc.errors import ParseError

from .checkpoints import CARD, summaries_file
from .projection import Readout

MAX_BYTES = 16 << 20
"""Maximum bytes of a file of results, which may come from elsewhere."""
# name of the file of the measured inference, without its suffix
INFERENCE = "inference"
# values of ``place``: the file of a line is in the folder of the stages or of the results
STAGES, RESULTS = "stages", "results"
METRICS = ("rows", "mape", "within_10", "tau")
"""Scores of a slice that a line has."""
EMPTY: Mapping[str, Any] = {"families": {}, "places": [], "points": [], "points_besides": {}}
"""Values that replace results of a training which no table of the thesis shows."""
# a name from a file becomes a path, so that it may have no separator and no further dot
_NAME = re.compile(r"[a-z0-9_-]{1,120}\.json")


def unpack(known: Path, folder: Path, stages: Path) -> int:
    """Write results where `perfc eval gnn-llm` looks for them; existing files stay.

    Args:
        known: file of JSON lines; a missing one counts as empty.
        folder: folder of the results.
        stages: folder of the stages.

    Returns:
        The number of lines.

    Raises:
        ParseError: the file is damaged.
    """
    lines = read(known)
    for (place, name), content in lines.items():
        path = (stages if place == STAGES else folder) / name
        if not path.is_file():
            write_file(path, (json.dumps(content) + "\n").encode())
    return len(lines)


def pack(known: Path, folder: Path, stages: Path, keys: Iterable[str]) -> int:
    """Add the existing results to the file and return its number of lines.

    Args:
        known: file of JSON lines.
        folder: folder of the results.
        stages: folder of the stages.
        keys: keys of the trainings.
    """
    lines = read(known)
    for name in (CARD, *map(summaries_file, Readout)):
        _take(lines, STAGES, stages / name)
    for key in (INFERENCE, *keys):
        _take(lines, RESULTS, folder / f"{key}.json")
    # sorted and compact: the same results are the same bytes
    texts = [
        json.dumps({"place": place, "file": name, "content": content}, separators=(",", ":"))
        for (place, name), content in sorted(lines.items())
    ]
    write_file(known, "".join(f"{text}\n" for text in texts).encode())
    return len(texts)


def read(known: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the contents of all lines, by place and name of the file.

    Raises:
        ParseError: the file is damaged.
    """
    if not known.is_file():
        return {}
    if known.stat().st_size > MAX_BYTES:
        raise ParseError(f"results end at {MAX_BYTES} bytes", where=os.fspath(known))
    results = {}
    for number, text in enumerate(known.read_text(encoding="utf-8").splitlines(), 1):
        try:
            line = json.loads(text)
            place, name, content = line["place"], line["file"], line["content"]
            is_sound = place in (STAGES, RESULTS) and isinstance(content, dict)
            if not is_sound or _NAME.fullmatch(name) is None:
                raise ValueError("no place, file and content")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ParseError(
                f"no result: {error}", where=f"{known}:{number}", hint="name another file"
            ) from None
        results[place, name] = content
    return results


def _take(lines: dict[tuple[str, str], Mapping[str, Any]], place: str, path: Path) -> None:
    """Add the content of a file to the lines; nothing if it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    lines[place, path.name] = short(content) if "slices" in content else content


def short(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a training without the fields that the page does not show."""
    slices = {
        name: {metric: rounded(figure[metric]) for metric in METRICS}
        for name, figure in result["slices"].items()
    }
    curve = [[epoch, rounded(loss)] for epoch, loss in result["curve"]]
    return {**result, **EMPTY, "slices": slices, "curve": curve}


def rounded(number: float | None) -> float | None:
    """Return a number with five significant digits; None for None."""
    return None if number is None else float(f"{number:.5g}")
