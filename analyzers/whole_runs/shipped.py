"""Find trained whole-run weights, shipped or of plug-ins: by machine and mode, or by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from perfc.common import plugins
from perfc.errors import TargetError
from perfc.machine import Machine, load_machine

from ..artefacts.artefact import WeightsError
from ..features.sheet import Sheet
from ..graph.predictor import GraphPredictor
from ..graph.rows import Quantity
from ..graph.weights import GraphCard, load, read_card
from ..steps.setting import Setting

FOLDER = Path(__file__).parent.parent / "weights" / "graph"
"""Folder of the shipped weights."""
PLUGIN_FOLDER = "weights"
"""Folder of weights in a plug-in's package of predictors."""


@cache
def cards(folder: Path = FOLDER) -> tuple[tuple[Path, GraphCard], ...]:
    """Return files and cards of a folder, those with most training rows first.

    Raises:
        WeightsError: a file is no card.
    """
    every = [(path, read_card(path)) for path in sorted(folder.glob("*.json"))]
    # callers take the first that fits: more rows first; equal numbers stay in order of file names
    return tuple(sorted(every, key=lambda file_and_card: -file_and_card[1].rows))


@cache
def loaded(path: Path) -> tuple[GraphPredictor, GraphCard]:
    """Return weights that are read once and shared; the predictor must not be adapted.

    Raises:
        WeightsError: as `load`.
    """
    return load(path, trains=False)


def covering(
    target: str, setting: Setting, quantity: Quantity = Quantity.TIME, *, folder: Path = FOLDER
) -> Path | None:
    """Return the card with rows of a machine in an execution mode; None without one."""
    of_quantity = ((path, card) for path, card in cards(folder) if card.quantity == quantity.value)
    return next((path for path, card in of_quantity if card.covers(target, setting)), None)


def reaching(
    target: str, setting: Setting, quantity: Quantity = Quantity.TIME
) -> tuple[Path, bool] | None:
    """Return a card whose rows have this execution mode, and whether they are of this machine.

    Cards with rows of the machine come first. None if no card covers the mode on any machine.
    """
    covered = covering(target, setting, quantity)
    if covered is not None:
        return covered, True
    of_quantity = ((path, card) for path, card in cards(FOLDER) if card.quantity == quantity.value)
    others = (
        path
        for path, card in of_quantity
        if any(card.covers(other, setting) for other in card.targets)
    )
    other_card = next(others, None)
    return (other_card, False) if other_card is not None else None


def in_measured_half(
    machine: Machine, setting: Setting, quantity: Quantity = Quantity.TIME
) -> Setting:
    """Return a setting in the half-precision type (f16 or bf16) that has measured runs.

    It is the setting as given if that is in no half precision, if rates differ, or if neither type
    was measured. Machines with equal rates for f16 and bf16 take about as long in both: 0.974 to
    1.011 times for 90 % of timm's 1,294 models on an RTX PRO 6000, under autocast, compiled.
    """
    # the precision as given comes first, then its twin: f16 for bf16, and bf16 for f16
    choices = [setting, replace(setting, precision=setting.precision.twin)]
    if choices[0] == choices[1] or not Sheet(machine).has_equal_halves:
        return setting
    name = known_name(str(machine.path))
    # runs on this machine in either type come before runs on others
    of_machine = (choice for choice in choices if covering(name, choice, quantity) is not None)
    of_others = (choice for choice in choices if reaching(name, choice, quantity) is not None)
    return next(of_machine, None) or next(of_others, setting)


def named(name: str, quantity: Quantity = Quantity.TIME, *, folder: Path | None = None) -> Path:
    """Return the card of a file name or a predictor's name; of any predictor for an empty name.

    Shipped weights precede those of plug-ins.

    Raises:
        WeightsError: there are no such weights.
    """
    if name.endswith(".json"):
        return Path(name)
    fits = [
        path
        for path, card in every_card(folder)
        if card.quantity == quantity.value and name.replace("-", "_") in ("", card.predictor)
    ]
    if not fits:
        raise WeightsError(
            f"no weights of {name or quantity.value!r} are installed", hint=source_of(name, folder)
        )
    return fits[0]


def source_of(name: str, folder: Path | None = None) -> str:
    """Return a hint for a predictor without weights: how to train it, or which weights exist."""
    from ..graph.predictor import begins_from, files

    # a name may have a variant after a colon: roofline:scaled
    stem = name.partition(":")[0].replace("-", "_")
    if stem in files():
        if command := begins_from(stem):
            return f"{command} writes them; then --predictor NAME.json"
        return (
            f"train them: perfc train graph --predictor {name} --graphs DIR -o weights; "
            f"then --predictor weights/{name.replace('-', '_').replace(':', '-')}-timm-time_s.json"
        )
    known = f"there are {', '.join(names(folder)) or 'none'}; or give a card, NAME.json"
    # predictors of papers are in the lab package; without it the hint says how to install it
    has_lab = any(True for _ in plugins.modules(plugins.PREDICTORS))
    return known if has_lab else f"{known}; published predictors: {plugins.LAB_HINT}"


def every_card(folder: Path | None = None) -> Iterator[tuple[Path, GraphCard]]:
    """Yield the cards of a folder; by default those of perfc, then those of plug-ins."""
    for searched in folders() if folder is None else (folder,):
        yield from cards(searched)


@cache
def folders() -> tuple[Path, ...]:
    """Return the folder of the shipped weights, and those of plug-ins."""
    packages = (plugins.file_of(name).parent for name in plugins.modules(plugins.PREDICTORS))
    return FOLDER, *(package / PLUGIN_FOLDER for package in packages)


def names(folder: Path | None = None) -> list[str]:
    """Return the names of the predictors with weights, without duplicates."""
    return sorted({card.predictor.replace("_", "-") for _, card in every_card(folder)})


def newest(
    card: Path | None,
    target: str,
    setting: Setting,
    quantity: Quantity = Quantity.TIME,
    version: tuple[int, int] | None = None,
) -> Setting:
    """Return a setting with the given framework version, or with the newest measured one.

    The newest is that of the card's rows on the machine in this mode; without such rows the setting
    keeps its version.
    """
    if version is None:
        path = card or covering(target, setting, quantity)
        measured = read_card(path).versions(target, setting) if path is not None else ()
        version = max(measured, default=setting.version)
    return replace(setting, version=version)


def known_name(target: str) -> str:
    """Return the name under which rows hold a machine, or its file if it is another machine.

    Raises:
        TargetError: no such machine.
    """
    machine = load_machine(target)
    try:
        named = load_machine(machine.name)
    except TargetError:
        return str(target)
    # a user's file may have the name of a shipped target and other numbers
    return machine.name if replace(named, path=machine.path) == machine else str(target)
