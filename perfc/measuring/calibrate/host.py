"""The target ``host``: this machine, measured once by a quick probe and cached per user.

The file is in the user's cache folder, under a digest of the processor and the number of usable
cores. So another machine with the same home folder does not use it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from perfc.common.cache_folder import cache_folder
from perfc.common.plain_text import say
from perfc.errors import TargetError
from perfc.kernels.backends import host
from perfc.machine import HOST, load_machine

OVERRIDE = "PERFC_HOST"
"""Environment variable that names a target file for this machine, where one is known already."""
SECONDS = 15
"""Maximum seconds of a probe, as the user reads them. The limit itself is in `calibrate.run`, which
starts no measurement after 12 s."""


def host_file() -> Path:
    """Return the path of this machine's target file, measured first if there is no whole one.

    Raises:
        TargetError: the machine cannot be measured, or the file cannot be written.
    """
    if override := os.environ.get(OVERRIDE):
        return Path(override)
    path = folder() / f"{HOST}.toml"
    if not is_whole(path):
        quick_probe(path)
    announce(path)
    return path


@cache  # so that a process says it once, however often the target is loaded
def announce(_path: Path) -> None:
    """Say what restricts this machine, and which load it has; once for its file."""
    restricted, busy = host.restrictions(host.processors()), host.load()
    for line in (restricted, busy and f"{busy}: runs take longer meanwhile"):
        if line:
            say(f"note: {line}", is_error=True)


def is_whole(path: Path) -> bool:
    """Return True for a target file that can be read; a damaged file is measured again."""
    try:
        load_machine(path)
    except TargetError:
        return False
    return True


def folder() -> Path:
    """Return the folder of the target file of this processor with this many cores."""
    return cache_folder("hosts") / key()


def key() -> str:
    """Return a digest of the processor's model and of the cores that may be used."""
    device = host.describe(host.processors())
    parts = (device.name, device.arch, device.cores, *sorted(device.features), sys.platform)
    identity = "|".join(map(str, (*parts, *device.caches.items())))
    # 64 bits: a few machines share a folder
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def quick_probe(path: Path) -> None:
    """Measure this machine, in ``SECONDS`` at most, and write its target file in one step.

    Raises:
        TargetError: it cannot be measured, or the file not be written.
    """
    from .run import calibrate

    say(f"note: measuring this machine once, {SECONDS} s at most; kept in {path}", is_error=True)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # in the same folder, so that the replacement is a rename within one file system
        with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
            fresh = Path(temporary) / path.name
            calibrate("cpu", fresh, quick=True, say=warn)
            os.replace(fresh, path)
    except OSError as error:
        raise TargetError(error.strerror or "cannot be written", where=str(path.parent)) from None


def warn(line: str) -> None:
    """Print a warning of calibrate with the command that measures better."""
    hint = "`perfc calibrate` measures it thoroughly"
    say(f"warning: {line}; {hint}", is_error=True)
