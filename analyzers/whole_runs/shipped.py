"""The weights that come with perfc, and which of them know a machine and a way of running."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import TargetError
from perfc.machine import load_machine

from ..artefacts.artefact import WeightsError
from ..features.sheet import Sheet
from ..graph.rows import Quantity
from ..graph.weights import GraphCard, load, read_card

if TYPE_CHECKING:
    from perfc.machine import Machine

    from ..graph.predictor import GraphPredictor
    from ..steps.setting import Setting

FOLDER = Path(__file__).parent.parent / "weights" / "graph"


@cache
def cards(folder: Path = FOLDER) -> tuple[tuple[Path, GraphCard], ...]:
    """Files and cards, those trained on most rows first.

    Raises:
        WeightsError: one that is no card.
    """
    found = [(path, read_card(path)) for path in sorted(folder.glob("*.json"))]
    return tuple(sorted(found, key=lambda one: -one[1].rows))


@cache
def loaded(path: Path) -> tuple[GraphPredictor, GraphCard]:
    """Weights, read once; their predictor must not be adapted.

    Raises:
        WeightsError: as `load`.
    """
    return load(path)


def covering(
    target: str, setting: Setting, quantity: Quantity = Quantity.TIME, *, folder: Path = FOLDER
) -> Path | None:
    """The card whose rows are of that machine, run that way; None where there is none."""
    of_quantity = ((path, card) for path, card in cards(folder) if card.quantity == quantity.value)
    return next((path for path, card in of_quantity if card.covers(target, setting)), None)


def reaching(
    target: str, setting: Setting, quantity: Quantity = Quantity.TIME, *, folder: Path = FOLDER
) -> tuple[Path, bool] | None:
    """The card that covers a machine run that way, else one that covers others run so.

    With whether it covers the machine itself; None where no card knows such a way of running.
    """
    own = covering(target, setting, quantity, folder=folder)
    if own is not None:
        return own, True
    of_quantity = ((path, card) for path, card in cards(folder) if card.quantity == quantity.value)
    others = (path for path, card in of_quantity
              if any(card.covers(other, setting) for other in card.targets))  # fmt: skip
    found = next(others, None)
    return (found, False) if found is not None else None


def in_measured_half(
    machine: Machine, setting: Setting, quantity: Quantity = Quantity.TIME
) -> Setting:
    """A setting in the type of half precision that such runs were measured in.

    Where a machine multiplies f16 and bf16 at one rate, runs in both take as long: 0.974 to 1.011
    times in nine of ten of timm's 1,294 models on an RTX PRO 6000, under autocast, compiled.
    """
    choices = [setting, replace(setting, precision=setting.precision.twin)]
    if choices[0] == choices[1] or not Sheet(machine).has_equal_halves:
        return setting
    name = known_name(str(machine.path))
    of_machine = (one for one in choices if covering(name, one, quantity) is not None)
    of_others = (one for one in choices if reaching(name, one, quantity) is not None)
    return next(of_machine, None) or next(of_others, setting)


def named(name: str, quantity: Quantity = Quantity.TIME, *, folder: Path = FOLDER) -> Path:
    """The card of that file, or of the predictor of that name; any predictor where it is empty.

    Raises:
        WeightsError: there is none.
    """
    if name.endswith(".json"):
        return Path(name)
    fits = [
        path for path, card in cards(folder)
        if card.quantity == quantity.value and name.replace("-", "_") in ("", card.predictor)
    ]  # fmt: skip
    if not fits:
        raise WeightsError(
            f"no weights of {name or quantity.value!r} come with perfc",
            hint=f"there are {', '.join(names(folder)) or 'none'}; or give a card, NAME.json",
        )
    return fits[0]


def names(folder: Path = FOLDER) -> list[str]:
    """Predictors whose weights come with perfc."""
    return sorted({card.predictor.replace("_", "-") for _, card in cards(folder)})


def newest(
    card: Path | None,
    target: str,
    setting: Setting,
    quantity: Quantity = Quantity.TIME,
    version: tuple[int, int] | None = None,
) -> Setting:
    """A setting with a version: the one asked for, or the newest measured on a machine."""
    if version is None:
        path = card or covering(target, setting, quantity)
        measured = read_card(path).versions(target, setting) if path is not None else ()
        version = max(measured, default=setting.version)
    return replace(setting, version=version)


def known_name(target: str) -> str:
    """What rows call a machine: its name, or its file where the name alone means another.

    Raises:
        TargetError: no such machine.
    """
    machine = load_machine(target)
    try:
        named = load_machine(machine.name)
    except TargetError:
        return str(target)
    return machine.name if replace(named, path=machine.path) == machine else str(target)
