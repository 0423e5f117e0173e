"""Sources that a PyTorch module is made of, by the imports in them; nothing is imported."""

from __future__ import annotations

import ast
import hashlib
import math
import os
import stat
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from perfc.common.version import version_of
from perfc.frontend.reading.module_name import SOURCE_FOLDERS, NamedModule

MOST_FILES = 5000
"""Maximum number of sources of a module, and of settings files next to them: a digest reads all."""
SETTINGS = (".json", ".yaml", ".yml", ".toml", ".ini", ".cfg")
"""Suffixes of files that a model may read its sizes from."""
LARGEST_BYTES = 4 << 20
"""Maximum size of a source file."""


def sources_of(model: NamedModule) -> tuple[Path, ...]:
    """Return the source files of a module in its folder, the file that defines it first.

    Imports in functions count too: they may run when the module is created. Files that are not
    Python have no imports.
    """
    return tuple(reached(model)[0])


def digest_of(model: NamedModule) -> str:
    """Return the SHA-256 of the sources of a module and of the versions of what they import.

    Files of settings next to the sources count, except perfc's.
    """
    files, packages = reached(model)
    sha = hashlib.sha256(repr((model.name, model.inputs, model.kwargs)).encode())
    library = "jax" if model.is_jax else "torch"
    root = folder_of(model)
    neighbors = [p for folder in {f.parent for f in files} for p in folder.iterdir()]
    settings = [p for p in neighbors if p.suffix in SETTINGS and p.name != "perfc.toml"]
    for path in sorted(files + settings[:MOST_FILES]):
        sha.update(f"\0{path.relative_to(root).as_posix()}\0".encode() + content(path))
    for package in sorted(packages | {library}):
        sha.update(f"\0{package} {version_of(package)}".encode())
    return sha.hexdigest()


def folder_of(model: NamedModule) -> Path:
    """Return the folder that a module is imported from."""
    return Path(os.path.abspath(model.folder or "."))


def reached(model: NamedModule) -> tuple[list[Path], set[str]]:
    """Return the files that a module reaches by imports, and the other packages it imports."""
    where = model.name.rpartition(":")[0]
    root, packages = folder_of(model), set[str]()
    places = [root / folder for folder in SOURCE_FOLDERS]
    if where.endswith(".py"):
        waiting = [root / where] if (root / where).is_file() else []
        places.insert(0, (root / where).parent)
    else:
        waiting, last = files_of(where, places), where.rpartition(".")[2]
        # the last file must be the module itself: `a/__init__.py` does not define `a.b`
        is_there = waiting and last in (waiting[-1].stem, waiting[-1].parent.name)
        waiting = waiting if is_there else []
        packages |= set() if waiting else {where.partition(".")[0]}
    # the module itself is the last file; the packages that hold it come before
    files, others = closure(waiting[::-1], places, root)
    return files, packages | others


def closure(
    first: Sequence[Path], places: Sequence[Path], root: Path, most_bytes: float = math.inf
) -> tuple[list[Path], set[str]]:
    """Return sources with those they reach by imports, and the other packages that they import.

    Args:
        first: sources to begin with.
        places: folders that packages are imported from.
        root: folder of all sources.
        most_bytes: size of the sources from which on no further one is read.
    """
    waiting, seen, packages, nbytes = [*first], dict[Path, None](), set[str](), 0
    while waiting and len(seen) < MOST_FILES and nbytes < most_bytes:
        path = waiting.pop(0)
        if path in seen or not path.is_relative_to(root):
            continue
        seen[path] = None
        source = content(path)
        nbytes += len(source)
        for name in imported(path, source):
            level = len(name) - len(name.lstrip("."))
            # one dot is the folder of the file, each further dot one folder up
            folders = [path.parents[level - 1]] if 0 < level <= len(path.parents) else places
            files = files_of(name[level:], folders)
            waiting += files
            # not a file of the project: a package, whose version counts
            if not files and not level:
                packages.add(name.partition(".")[0])
    return list(seen), packages


def files_of(name: str, places: Sequence[Path]) -> list[Path]:
    """Return the files that importing ``package.module`` runs, from the first place with any."""
    for place in places:
        files: list[Path] = []
        here = place
        for part in name.split(".") if name else ():
            here = here / part
            candidates = (here / "__init__.py", here.with_name(f"{part}.py"))
            files += [f for f in candidates if f.is_file()][:1]
        if not name and (place / "__init__.py").is_file():
            files.append(place / "__init__.py")
        if files:
            return files
    return []


def content(path: Path) -> bytes:
    """Return the content of a source file; empty for one that is too large or not readable."""
    try:
        status = path.stat()
        # a pipe would block, and a device never end
        is_source = stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_BYTES
        return path.read_bytes() if is_source else b""
    except OSError:
        return b""


@cache
def imported(path: Path, source: bytes) -> tuple[str, ...]:
    """Return the names that a source imports, with dots before relative ones."""
    tree = parsed(source)
    return tuple(dict.fromkeys(_imported(tree))) if tree else ()


def parsed(source: bytes) -> ast.Module | None:
    """Return the syntax tree of a source; None for one that is not Python."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield every module that imports may name: ``a`` and ``a.b`` for ``from a import b``."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                start = "." * level + (module or "")
                yield start
                # `from a import b` may import a module `a.b`, `from . import b` a module `.b`
                dot = "." if module else ""
                yield from (f"{start}{dot}{alias.name}" for alias in names if alias.name != "*")
