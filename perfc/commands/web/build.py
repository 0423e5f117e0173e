"""Build the static page: a folder that any file server hosts, with perfc and Pyodide in it.

Python's files are packed into a few archives, which the browser loads before the first answer;
weights and samples are separate files, requested when they are read.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from perfc.errors import PerfcError

from . import registries
from .operations import catalogue
from .policy import page_policy

PAGE = Path(__file__).parent / "page"
"""Folder with the files that the page itself consists of."""
LAZY = re.compile(
    r"perfc/(analyzers/weights/.*\.npz|frontend/diffusion/graphs/.*\.gz|commands/web/samples/.*\.gz)"
)
"""Files of perfc that are requested when they are read."""
LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|tests?)(/|$)|\.(pyi|pxd|c|h|cu|typed|a|pc|ini)$"
    r"|^perfc/(measuring|kernels/backends|frontend/(openvino|stablehlo))/"
    r"|^perfc/review/(check|rules|lint)/|^perfc/commands/web/(page/|samples/README|lock|server)"
    r"|^numpy/(f2py|random|fft|ma|polynomial|testing|distutils|doc|_pyinstaller)(/|$)"
    r"|/(RECORD|METADATA)$"
)
"""Files without use in a browser: tests, sources in C, parts that the page has no operation for."""
STDLIB_LEFT_OUT = re.compile(
    r"^(unittest|xmlrpc|wsgiref|pydoc|doctest|pdb|bdb|cmd|mailbox|smtplib|ftplib|imaplib|poplib|turtle"
    r"|multiprocessing|ensurepip|venv|idlelib|lib2to3|tkinter|pydoc_data|curses|sqlite3|dbm|test"
    r"|optparse|nntplib|telnetlib|pickletools|_pyio|_pydatetime|_pydecimal|aifc|sunau|wave|chunk|cgi"
    r"|cgitb|imghdr|sndhdr|uu|xdrlib|mailcap|msilib|crypt|pipes|profile|cProfile|pstats|trace|tabnanny"
    r"|zoneinfo|modulefinder|py_compile|compileall|zipapp|webbrowser|code|codeop|plistlib|netrc|nturl2path"
    r"|antigravity|this|filecmp|fileinput|getopt|rlcompleter|timeit|sched|shelve|symtable|pyclbr"
    r"|_osx_support|_aix_support|_bootsubprocess|xml/(dom|sax)|logging/(config|handlers)"
    r"|encodings/(?!__init__|aliases|ascii|utf_8|utf_16|utf_32|latin_1|cp437|idna|unicode_escape"
    r"|raw_unicode_escape|punycode)[a-z0-9_]+)(/|\.py$)"
)
"""Modules of the standard library that neither perfc nor Pyodide imports."""
EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of every member of an archive, the first that ZIP knows: equal files give equal bytes."""


@dataclass
class PageBuild:
    """A build in progress.

    Args:
        folder: folder of the page.
        files: size in bytes of each file that the worker requests, as transferred.
        lazy: path in Python's packages, name and size of the files requested when they are read.
    """

    folder: Path
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    lazy: list[tuple[str, str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir()

    def add(self, name: str, content: bytes) -> None:
        """Write a file that the worker requests."""
        (self.folder / name).write_bytes(content)
        self.files[name] = {"size": len(content)}


def build(
    out: Path,
    *,
    numpy: Path | None = None,
    has_numpy: bool = True,
    report: Callable[[str], None] = lambda _: None,
) -> Path:
    """Build the page into a folder and return it; an earlier build there is replaced.

    Args:
        out: folder of the page: new, empty or of an earlier build.
        numpy: numpy's wheel of Pyodide (default: from PyPI).
        has_numpy: include predictors, which need numpy; otherwise the page shows lower bounds.
        report: receives the name of each step.

    Raises:
        PerfcError: the folder holds something else, or a download fails.
    """
    if out.exists() and any(out.iterdir()) and not (out / "manifest.json").is_file():
        raise PerfcError("holds something other than an earlier build", where=str(out))
    # a path that cannot be written is reported before the downloads
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        report("downloading Pyodide and wheels")
        core = registries.pyodide(work)
        sources = Sources.under(work)
        for wheel in registries.wheels(work / "wheels"):
            registries.unpacked(wheel, sources.code)
        if has_numpy:
            report("downloading numpy")
            wheel_bytes = registries.numpy_wheel(work / "numpy-package", core, numpy)
            registries.unpacked(wheel_bytes, sources.numpy)
        with zipfile.ZipFile(core / "python_stdlib.zip") as archive:
            archive.extractall(sources.stdlib)
        page = PageBuild(work / "page")
        add_perfc(page, sources.code, has_weights=has_numpy)
        # before `compile`, which removes the metadata with the licenses
        licenses(page.folder, sources)
        report("compiling")
        sources.compile(core)
        for name, source in vars(sources).items():
            if has_numpy or source != sources.numpy:
                report(f"packing {name}")
                page.add(f"{name}.bin", packed(source))
        page.add("pyodide.wasm.bin", zipped((core / "pyodide.asm.wasm").read_bytes()))
        page.add("pyodide.asm.bin", zipped((core / "pyodide.asm.js").read_bytes()))
        script, _, _ = (core / "pyodide.mjs").read_bytes().partition(b"\n//# sourceMapping")
        page.add("pyodide.mjs", script)
        add_page(page, json.loads((core / "pyodide-lock.json").read_text(encoding="utf-8")))
        # an earlier build stays until the new one is complete
        shutil.rmtree(out)
        shutil.copytree(page.folder, out)
    return out


@dataclass(frozen=True)
class Sources:
    """Folders of Python: perfc and its packages, numpy, the standard library."""

    code: Path
    numpy: Path
    stdlib: Path

    @classmethod
    def under(cls, work: Path) -> Sources:
        """Return new folders."""
        folders = [work / name for name in ("code", "numpy", "stdlib")]
        for folder in folders:
            folder.mkdir()
        return cls(*folders)

    def compile(self, core: Path) -> None:
        """Remove what a browser has no use for and compile the rest with Pyodide's Python.

        Raises:
            PerfcError: Node.js is not installed, or a file does not compile.
        """
        for folder in (self.code, self.numpy):
            thin(folder, LEFT_OUT)
        thin(self.stdlib, STDLIB_LEFT_OUT)
        paths = [str(p) for p in (core, self.code, self.numpy, self.stdlib)]
        program = str(Path(__file__).with_name("compile.mjs"))
        registries.ran(["node", program, *paths], core, "compiling")


def files_of(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield relative name and path of every file in a folder, links followed, in order."""
    for folder, folders, names in os.walk(root, followlinks=True):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            yield path.relative_to(root).as_posix(), path


def add_perfc(page: PageBuild, code: Path, *, has_weights: bool) -> None:
    """Copy the running perfc; files of `LAZY` become separate files of the page.

    Weights of predictors are of no use without numpy.
    """
    (page.folder / "data").mkdir()
    root = Path(__file__).parents[2]
    for inside, path in files_of(root):
        name = f"perfc/{inside}"
        if LEFT_OUT.search(name) or (name.endswith(".npz") and not has_weights):
            continue
        content = path.read_bytes()
        if LAZY.fullmatch(name):
            # 64 bits are enough to distinguish files
            short = f"data/{hashlib.sha256(content).hexdigest()[:16]}.bin"
            (page.folder / short).write_bytes(content)
            page.lazy.append((name, short, len(content)))
            continue
        target = code / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def thin(root: Path, pattern: re.Pattern[str]) -> None:
    """Remove the files of a folder whose names match."""
    for name, path in [*files_of(root)]:
        if pattern.search(name):
            path.unlink()


def licenses(page: Path, sources: Sources) -> None:
    """Copy the licenses of the packages, and name the licenses of Pyodide and Python."""
    target = page / "licenses"
    target.mkdir()
    for source in (sources.code, sources.numpy):
        for name, path in files_of(source):
            if re.search(r"dist-info/(licenses/)?[^/]*(LICEN[SC]E|COPYING|NOTICE)[^/]*$", name):
                package = name.split("-")[0]
                (target / f"{package}.txt").write_bytes(path.read_bytes())
    version = registries.lock()["pyodide"]["version"]
    (target / "README.txt").write_text(
        f"Pyodide {version}: Mozilla Public License 2.0, sources at its npm package pyodide.\n"
        "Python: PSF License Version 2.\nperfc: Apache License 2.0.\n",
        encoding="utf-8",
    )


def packed(root: Path) -> bytes:
    """Return a zip archive of a folder, compressed as a whole; equal contents give equal bytes."""
    # stored, not deflated, so that gzip around the archive finds what its files have in common
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, path in files_of(root):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes())
    return zipped(buffer.getvalue())


def zipped(content: bytes) -> bytes:
    """Return content as gzip."""
    return gzip.compress(content, 9, mtime=0)


def add_page(page: PageBuild, pyodide_lock: dict[str, object]) -> None:
    """Write the page itself, what its form offers, and the list of all files."""
    for name, path in files_of(PAGE):
        text = path.read_text(encoding="utf-8").replace("@POLICY@", page_policy())
        (page.folder / name).write_text(text, encoding="utf-8")
    offered = {"predicts": "numpy.bin" in page.files, **catalogue()}
    write_json(page.folder / "catalogue.json", offered)
    # the page answers Pyodide's request for its lock file with this one; it has no packages
    # for Pyodide to load, as numpy and all Python code come from files of the page
    lock = {"info": pyodide_lock["info"], "packages": {}}
    write_json(
        page.folder / "manifest.json", {"files": page.files, "lazy": page.lazy, "lock": lock}
    )
    offline = page.folder / "offline.js"
    names = [n for n, p in files_of(page.folder) if p != offline and not n.startswith("licenses")]
    # a change of any file changes the name of the browser's cache, so that it loads the new build;
    # 9 bytes are 12 letters of base64, without padding
    digest = hashlib.sha256(b"".join((page.folder / n).read_bytes() for n in names)).digest()
    text = offline.read_text(encoding="utf-8")
    text = text.replace("@BUILD@", base64.urlsafe_b64encode(digest[:9]).decode())
    offline.write_text(text.replace("[/* FILES */]", json.dumps(["./", *names])), encoding="utf-8")


def write_json(path: Path, content: object) -> None:
    """Write compact JSON."""
    path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")
