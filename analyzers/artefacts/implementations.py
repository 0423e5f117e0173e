"""List the measured kernels that may execute given rows, for callers that name no implementation.

A model specifies the extents of a product. It does not say which framework runs the product, with
which kernel, or how that kernel quantizes its operands. Each combination is a separate kernel with
its own time. The operator predictor combines the times of all candidates
(`perfc.analyzers.intervals.mixture`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity, record

from ..features.distance import distance
from ..features.rows import Protocol
from ..features.table import class_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array, Columns, KernelClass
    from ..features.sheet import Sheet
    from .card import Card

Choice = tuple[str, tuple[float, ...]]
"""A framework, and values of the class's ``by_framework``."""


@record
class Implementation:
    """Kernels that a framework ran on a machine.

    Args:
        target: the machine.
        dtype: element type.
        protocol: how the kernels were timed.
        framework: framework of the kernels.
        choices: values of the class's ``by_framework`` parameters, which the framework chose.
        reasons: values of the class's ``chosen_by`` parameters, on which the choice depends.
    """

    target: str
    dtype: str
    protocol: Protocol
    framework: str
    choices: tuple[float, ...]
    reasons: tuple[float, ...]


@entity
class CandidateKernel:
    """A framework's kernel that may execute some rows.

    Args:
        framework: framework of the kernel.
        columns: all parameters of these rows, the framework's choices among them.
        rows: indices of the rows.
    """

    framework: str
    columns: Columns
    rows: NDArray[np.intp]


def candidate_kernels(
    card: Card,
    columns: Columns,
    dtype: str,
    sheet: Sheet,
    protocol: Protocol,
    framework: str = "",
) -> list[CandidateKernel]:
    """Return the kernels that may execute rows; one if all columns are given or none was measured.

    Engines tune their kernels: kernels that were timed without a tuner (``untuned``) are candidates
    only of rows that name them.

    Args:
        card: card of the weights.
        columns: every parameter of the class; the framework's choices at their defaults where the
            caller does not state them.
        dtype: element type of the computation.
        sheet: sheet of the machine.
        protocol: timing protocol of the prediction.
        framework: framework of the kernels; empty if unknown.
    """
    kind = class_of(card.class_name)
    # a framework without measured kernels counts as unknown
    known = framework if framework in card.frameworks else ""
    every = _near(card, dtype, sheet, protocol)
    candidates = [choice for choice in every if choice.framework == known] if known else every
    # rows with equal choices and reasons have the same candidates
    indices_of: dict[tuple[float, ...], list[int]] = {}
    for i, key in enumerate(choices_of(kind, columns).tolist()):
        indices_of.setdefault(tuple(key), []).append(i)
    rows: dict[Choice, list[NDArray[np.intp]]] = {}
    # sorted, so that the order of candidates does not depend on that of the rows
    for key in sorted(indices_of):
        choice_count = len(kind.by_framework)
        choices, reasons = key[:choice_count], key[choice_count:]
        measured = (
            _tuned(kind, every, candidates, reasons) if choices not in kind.untuned else candidates
        )
        for choice in _fitting(kind, measured, choices, reasons, known):
            rows.setdefault(choice, []).append(np.array(indices_of[key], np.intp))
    return [
        _taken(kind, columns, choice, np.concatenate(indices)) for choice, indices in rows.items()
    ]


def known_framework(
    card: Card, dtype: str, sheet: Sheet, protocol: Protocol, framework: str
) -> str:
    """Return ``framework`` if its kernels were measured on a machine like this one, else ""."""
    frameworks = {near.framework for near in _near(card, dtype, sheet, protocol)}
    return framework if framework in frameworks else ""


def _taken(
    kind: KernelClass, columns: Columns, choice: Choice, rows: NDArray[np.intp]
) -> CandidateKernel:
    """Return the candidate of a framework's choices for some rows, with the choices in place."""
    framework, choices = choice
    chosen = {name: column[rows] for name, column in columns.items()}
    given = zip(kind.by_framework, choices, strict=True)
    chosen |= {name: np.full(len(rows), value) for name, value in given}
    return CandidateKernel(framework, chosen, rows)


def choices_of(kind: KernelClass, columns: Columns) -> Array:
    """Return a framework's choices and their reasons, ``[rows, names]``.

    Names are those of ``by_framework``, then those of ``chosen_by``.
    """
    count = len(columns[kind.parameters[0]])
    names = (*kind.by_framework, *kind.chosen_by)
    return np.stack([columns[n] for n in names], axis=1) if names else np.zeros((count, 0))


def _fitting(
    kind: KernelClass,
    near: Sequence[Implementation],
    choices: tuple[float, ...],
    reasons: tuple[float, ...],
    framework: str,
) -> list[Choice]:
    """Return the candidates of rows with equal choices and reasons.

    Choices that differ from the defaults were given by the caller and are not replaced.

    Args:
        kind: class of the kernels.
        near: measured kernels that may be candidates.
        choices: the rows' values of ``by_framework``.
        reasons: the rows' values of ``chosen_by``.
        framework: the requested framework; "" if unknown.
    """
    is_stated = choices != tuple(kind.optional[name] for name in kind.by_framework)
    # nothing to choose from, or everything is given
    if not near or (framework and is_stated):
        return [(framework, choices)]
    fits = [kernel for kernel in near if kernel.choices == choices] if is_stated else near
    similar = _equal(fits or near, reasons)
    # given choices stay, even if no measured kernel has them: then only frameworks are listed
    chosen = ((kernel.framework, choices if is_stated else kernel.choices) for kernel in similar)
    return list(dict.fromkeys(chosen))


def _tuned(
    kind: KernelClass,
    every: Sequence[Implementation],
    candidates: Sequence[Implementation],
    reasons: tuple[float, ...],
) -> Sequence[Implementation]:
    """Return a framework's tuned kernels, or those of other frameworks if none of them matches.

    Args:
        kind: class of the kernels.
        every: kernels of all frameworks.
        candidates: kernels of the requested framework.
        reasons: inputs of the framework's choice.
    """
    tuned = [kernel for kernel in candidates if kernel.choices not in kind.untuned]
    if len(tuned) == len(candidates):
        return candidates
    were_tuned = [kernel in tuned for kernel in candidates if kernel.reasons == reasons]
    # a tuned kernel has these reasons, or no kernel has them
    if any(were_tuned) or not were_tuned:
        return tuned
    # only untuned kernels have these reasons: a tuned kernel of another framework is nearer to what
    # an engine runs
    others = [k for k in every if k.choices not in kind.untuned and k.reasons == reasons]
    return others or tuned or candidates


def _equal(fits: Sequence[Implementation], reasons: tuple[float, ...]) -> Sequence[Implementation]:
    """Return the kernels with equal reasons; if none, those that share the longest prefix of them.

    Reasons are compared in the order of ``chosen_by``.
    """
    levels = range(len(reasons), 0, -1)
    similar = ([kernel for kernel in fits if kernel.reasons[:n] == reasons[:n]] for n in levels)
    return next(filter(None, similar), fits)


def _near(card: Card, dtype: str, sheet: Sheet, protocol: Protocol) -> list[Implementation]:
    """Return the kernels that were measured on the machine, else on the nearest one with kernels.

    They are those of the protocol, or all kernels of that machine if none has the protocol.
    """
    # an element type without rows is compared by the first type of the card
    measured_dtype = dtype if dtype in card.places else next(iter(card.places))
    of_type = [kernel for kernel in card.implementations if kernel.dtype == measured_dtype]
    candidates = [kernel for kernel in of_type if kernel.target == sheet.name]
    if not candidates:
        candidates = [kernel for kernel in of_type if kernel.protocol is protocol] or of_type
        here = class_of(card.class_name).place(sheet, dtype)
        # `places` of a type are in alphabetical order of its machines
        names = sorted(
            {target for target, element, _ in card.configurations if element == measured_dtype}
        )
        distances = {
            n: distance(here, p) for n, p in zip(names, card.places[measured_dtype], strict=True)
        }
        nearest = min(
            (kernel.target for kernel in candidates),
            key=lambda n: distances[n],
            default="",
        )
        candidates = [kernel for kernel in candidates if kernel.target == nearest]
    return [kernel for kernel in candidates if kernel.protocol is protocol] or candidates
