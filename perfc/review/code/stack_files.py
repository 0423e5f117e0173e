"""Find the sources of an exported model in its repository, by the call stacks in its file.

Exporters write stacks with the paths of the machine that they ran on: a frame is of the file of the
repository whose path its own path ends with. Names are those of an untrusted file: only Python
files within the repository are read, up to a total size, and nothing is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from perfc.common.repository import root_of
from perfc.frontend.reading.module_name import SOURCE_FOLDERS

from .imports import SETTINGS, closure

MOST_NAMES = 1000
"""Maximum different files in the stacks of a model; *assumed* to be more than any program has."""
DEEPEST = 32
"""Maximum folders of a source below the root of its repository; *assumed*, as names are hostile."""
MOST_BYTES = 8 << 20
"""Maximum bytes of sources that are parsed, which takes about ten seconds."""
MOST_SETTINGS = 200
"""Maximum files of settings next to the sources."""


def files_of_frames(frames: Iterable[str], folder: Path) -> dict[str, str]:
    """Return the sources of a repository that frames are in, relative to a folder.

    Args:
        frames: lines of code, as ``/home/ci/net/model.py:42``.
        folder: folder in the repository.

    Returns:
        The source by its name in the frames, without those of other places.
    """
    top = root_of(folder)
    names = dict.fromkeys(frame.rpartition(":")[0] for frame in frames)
    if top is None:
        return {}
    places = {n: place for n in [*names][:MOST_NAMES] if (place := source_of(n, top, folder))}
    return {n: relative(place, folder) for n, place in places.items()}


def source_of(name: str, top: Path, folder: Path) -> Path | None:
    """Return the source in a repository that the path of a frame ends with; None without one."""
    # drives of Windows and the root are no folders of the repository
    parts = [p for p in name.replace("\\", "/").split("/") if p not in ("", ".", "..")]
    parts = parts[-DEEPEST:]
    below = [Path(*parts[k:]) for k in range(len(parts))]
    # a relative path is of the current folder
    given = [Path(os.path.abspath(name))]
    for path in (*given, *(base / end for end in below for base in dict.fromkeys((folder, top)))):
        if path.suffix == ".py" and is_inside(path, top):
            return path
    return None


def is_inside(path: Path, top: Path) -> bool:
    """Return True for a file of a repository, which a link does not lead out of."""
    try:
        real = path.resolve()
        return path.is_relative_to(top) and real.is_relative_to(top.resolve()) and real.is_file()
    except (OSError, ValueError, RuntimeError):
        return False  # a name that no file can have, or links in a circle


def relative(path: Path, folder: Path) -> str:
    """Return the name of a file relative to a folder, with slashes."""
    return os.path.relpath(path, folder).replace(os.sep, "/")


def with_imports(names: Mapping[str, str], folder: Path) -> list[str]:
    """Return sources and what they import in their repository, as `files_of_frames` names them."""
    top = root_of(folder)
    if top is None or not names:
        return []
    first = [Path(os.path.normpath(folder / name)) for name in dict.fromkeys(names.values())]
    # packages are below a folder on the way to a source, which one is unknown
    above = dict.fromkeys(p for f in first for p in f.parents if p.is_relative_to(top))
    places = [top / name for name in SOURCE_FOLDERS] + list(above)
    files = closure(first, places, top, MOST_BYTES)[0]
    return [relative(path, folder) for path in files if is_inside(path, top)]


def settings_near(sources: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield files of settings in the folders of sources, which a model may read its sizes from."""
    top = root_of(folder) or folder
    folders = dict.fromkeys(Path(os.path.normpath(folder / name)).parent for name in sources)
    near = (path for here in folders for path in sorted(here.iterdir()))
    named = (path for path in near if path.suffix in SETTINGS and path.name != "perfc.toml")
    for path in islice(named, MOST_SETTINGS):
        if is_inside(path, top):
            yield relative(path, folder)
