"""Fit two numbers of each board to served models whose energy was measured.

They are the fields of `perfc.serving.power.BoardPower`: a factor on the energy of kernels, and the
power of a board that waits between kernels over that of an idle board.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.machine import load_machine
from perfc.serving.host import HostModel
from perfc.serving.power import ANY_BOARD, BoardPower

from . import ServingQuantity
from .learn import LEAST_ROWS, of_kernels, predicted
from .replay import ReplayedNumber

WAITING = tuple([n / 4 for n in range(4, 19)])
"""Candidates of the power of a waiting board over that of an idle one, 1 to 4.5: an idle board
draws about a fifth of its power limit, which no board exceeds."""
POWER = tuple([n / 20 for n in range(12, 51)])
"""Candidates of the factor on the energy of kernels, 0.6 to 2.5. A best one at an end would ask for
a wider range."""
Parts = tuple[float, float, float]
"""Energies of a token in J: predicted in kernels, of waiting boards at idle power, and measured in
all."""


def times_of_tokens(law: HostModel, samples: Sequence[ReplayedNumber]) -> dict[str, float]:
    """Return the predicted seconds per token of each row with measured throughput, by row name."""
    # `value` is the measured time of the tokens, so that the ratio of times scales measured seconds
    # per token
    return {
        s.row.name: predicted(law, s) / s.value / s.row.measured[ServingQuantity.TOKENS_PER_S]
        for s in samples
        if s.quantity is ServingQuantity.TOKENS_PER_S
    }


def parts_of(law: HostModel, sample: ReplayedNumber, token_s: float) -> Parts:
    """Return the energies of a token, summed over all boards of the row.

    ``token_s`` is the predicted seconds per token, of which kernels take a part on each board.
    """
    drawn_j, kernels_s = of_kernels(law, sample)
    # seconds of all boards together in which no kernel runs
    waiting_s = max(token_s * sample.row.tensor - kernels_s, 0.0)
    return drawn_j, idle_of(sample.row.target) * waiting_s, sample.value


@cache
def idle_of(target: str) -> float:
    """Return the idle power of a board in W."""
    return idle_w(load_machine(target), power_model())


def power_of(parts: Sequence[Parts]) -> BoardPower:
    """Return the pair of candidates with the smallest mean error of the logarithm."""

    def error(power: float, waiting: float) -> float:
        return math.fsum(abs(math.log((power * a + waiting * b) / v)) for a, b, v in parts)

    _, power, waiting = min((error(p, w), p, w) for p in POWER for w in WAITING)
    return BoardPower(power, waiting, len(parts))


def power_by_board(parts: Sequence[tuple[str, Parts]]) -> dict[str, BoardPower]:
    """Return the power of each board with enough rows, and of all rows for any other board.

    Args:
        parts: target of each row, and its energies: of kernels, of waiting, and measured.
    """
    boards = dict.fromkeys(target for target, _ in parts)
    by_board = {board: [p for target, p in parts if target == board] for board in boards}
    powers = {board: power_of(rows) for board, rows in by_board.items() if len(rows) >= LEAST_ROWS}
    return powers | ({ANY_BOARD: power_of([p for _, p in parts])} if parts else {})


# name of the host model of a sample, and host models by name
LawName = Callable[[ReplayedNumber], str]
Laws = Mapping[str, HostModel]


def energies_of(
    samples: Sequence[ReplayedNumber], laws: Laws, law_name: LawName
) -> Iterator[tuple[ReplayedNumber, Parts]]:
    """Yield each sample of energy with the energies of a token, by the times of its law."""
    for name in dict.fromkeys(map(law_name, samples)):
        chosen = [s for s in samples if law_name(s) == name]
        times = times_of_tokens(laws[name], chosen)
        for s in chosen:
            if s.quantity is ServingQuantity.ENERGY_J:
                yield s, parts_of(laws[name], s, times[s.row.name])


def fitted_boards(
    samples: Sequence[ReplayedNumber], laws: Laws, law_name: LawName
) -> dict[str, BoardPower]:
    """Return the fitted power of boards, from samples of all laws."""
    parts = energies_of(samples, laws, law_name)
    return power_by_board([(s.row.target, each) for s, each in parts])
