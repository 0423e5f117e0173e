"""Tasks of a contributor; ``nox --list`` shows them, ``nox -s tests-3.12`` runs one.

``nox`` alone runs what a pull request must pass on one machine: lint, types, tests. Sessions make
environments of their own; ``nox -R`` uses those that are there, and no network.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TORCH = "torch==2.13.0"
"""The build that tests of networks and of captured modules are written for."""

LARGEST_MB = 180
"""Maximum size of the base install."""

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "uv|virtualenv"
THIS = "{}.{}".format(*sys.version_info[:2])
nox.options.sessions = ["lint", "types", f"tests-{THIS}"]


def install_torch(session: nox.Session) -> None:
    """PyTorch before anything else, so that nothing brings another build.

    ``TORCH_INDEX`` names the package index of CPU builds; without it pip's own serves one.
    """
    index = os.environ.get("TORCH_INDEX")
    session.install(TORCH, *(("--index-url", index) if index else ()))


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, and that each layer imports only those below it."""
    session.install("-e", ".[test]", "-e", "./lab")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Types of the package and of the examples, strictly."""
    session.install("-e", ".[test]", "-e", "./lab")
    session.run("mypy", "-p", "perfc")
    session.run("mypy", "examples")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The suite; what follows ``--`` goes to pytest."""
    session.install("-e", ".[test]", "-e", "./lab")
    session.run("python", "-m", "pytest", "-q", "-n", "2", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """The suite with PyTorch installed, so that no test is skipped for it, and what it runs."""
    install_torch(session)
    session.install("-e", ".[test,gnn,runs]", "-e", "./lab", "pytest-cov>=6")
    # lines and branches together; what runs on a GPU alone is counted as not covered
    session.run(
        "python",
        "-m",
        "pytest",
        "-q",
        "--cov",
        "--cov-report=term:skip-covered",
        "--cov-report=xml",
        "--cov-fail-under=85",
        *session.posargs,
    )


@nox.session
def long(session: nox.Session) -> None:
    """Tests that take more than ten seconds each."""
    install_torch(session)
    session.install("-e", ".[test,gnn,runs]", "-e", "./lab")
    session.run("python", "-m", "pytest", "-q", "-m", "long", *session.posargs)


@nox.session
def speed(session: nox.Session) -> None:
    """Start-up and analysis against their budgets, and tests that assert a time."""
    session.install("-e", ".[test]", "-e", "./lab")
    session.run("python", "-m", "benchmarks.speed.budgets", *session.posargs)
    session.run("python", "-m", "pytest", "-q", "-m", "speed")


@nox.session
def package(session: nox.Session) -> None:
    """Wheel and sdist are built; the wheel and what it needs answer alone, and are small."""
    session.install("build>=1.2")
    built = Path(session.create_tmp())
    session.run("python", "-m", "build", "--outdir", str(built), ".")
    wheel, site = max(built.glob("*.whl")), built / "site"
    session.install("--target", str(site), str(wheel))
    size_mb = sum(p.lstat().st_size for p in site.rglob("*") if p.is_file()) / 1e6
    session.log(f"the base install has {size_mb:.0f} MB")
    model = str(Path("examples/models/resnet50.onnx.gz").resolve())
    vit = str(Path("examples/models/vit-b16.onnx.gz").resolve())
    session.cd(built)  # away from the checkout, which would be imported in its place
    alone = {"PYTHONPATH": str(site)}
    session.run("python", "-m", "perfc", "analyze", model, "--batch", "8", "--quiet", env=alone)
    session.run("python", "-m", "perfc", "diff", model, vit, env=alone)
    if size_mb > LARGEST_MB:
        session.error(f"more than {LARGEST_MB} MB")


@nox.session
def docs(session: nox.Session) -> None:
    """Write the generated pages anew; fails where that changes one."""
    session.install("-e", ".[test]", "-e", "./lab")
    session.run("perfc", "dev", "ops", "--markdown", "-o", "docs/ops.md")
    session.run("perfc", "lint", "--explain", "all", "-o", "docs/rules.md")
    session.run("perfc", "dev", "schema", "-o", "docs/report.schema.json")
    write = "import perfc.machine as m, pathlib as p; "
    write += "p.Path('docs/targets.md').write_text(m.render_markdown(), encoding='utf-8')"
    session.run("python", "-c", write)
    session.run("python", "-m", "benchmarks.pictures")
    session.run("git", "diff", "--exit-code", "--", "docs", external=True)


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation as a site into site/; a broken link or a forgotten page fails."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Share of drawn mutants that tests kill: ``nox -s mutants -- --count 24 --seed 7``."""
    session.install("-e", ".[test]", "-e", "./lab", "pytest-cov>=6")
    session.run("python", "-m", "tests.mutation", *session.posargs)
