"""Numbers of chapter 6 of K. Panner Selvam, thesis PhD-FSTM-2025-034, Luxembourg.

The board shows them next to ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from perfc.ir.record import record

from .rows import Target


@record
class ThesisCell:
    """Errors of one predictor and target.

    Args:
        mape: mean relative error, as a fraction.
        rmse: root mean square error, in the unit of the target.
        tau: Kendall's rank correlation.
    """

    mape: float
    rmse: float
    tau: float


TREES: Mapping[Target, ThesisCell] = {
    Target.THROUGHPUT: ThesisCell(0.0549, 109.73, 0.96),
    Target.MEMORY: ThesisCell(0.0181, 1209.22, 0.98),
    Target.ENERGY: ThesisCell(0.0627, 0.20, 0.96),
}
"""Table 6.5, random folds; samples a second, MB, J a sample."""
GNN: Mapping[Target, ThesisCell] = {
    Target.THROUGHPUT: ThesisCell(0.1760, 481.82, 0.852),
    Target.MEMORY: ThesisCell(0.0945, 2657.45, 0.874),
    Target.ENERGY: ThesisCell(0.5318, 1.94, 0.41),
}
"""Table 6.5: errors of the thesis's graph network, in the same units."""
# features have the names of `model_features.MODEL`; MF are all of these, HF all of the hardware's
ABLATION: Mapping[Target, Mapping[str, float]] = {
    Target.THROUGHPUT: {
        "TM": 0.3936,
        "TM, TP, TM_mem": 0.4325,
        "MF": 0.4319,
        "TM + HF": 0.1789,
        "TM, TP, TM_mem + HF": 0.0616,
        "MF + HF (Table 6.3)": 0.0549,
    },
    Target.MEMORY: {
        "TM": 0.2421,
        "TM, TP, TM_mem": 0.2557,
        "MF": 0.2544,
        "TM + HF": 0.1168,
        "TM, TP, TM_mem + HF": 0.0194,
        "MF + HF (Table 6.3)": 0.0181,
    },
    Target.ENERGY: {
        "TM": 0.3108,
        "TM, TP, TM_mem": 0.3221,
        "MF": 0.3211,
        "TM + HF": 0.1482,
        "TM, TP, TM_mem + HF": 0.0628,
        "MF + HF (Table 6.3)": 0.0627,
    },
}
"""Table 6.6, mean relative errors."""
FASTER = 268.6
"""Figure 6.7: rows a second of the trees over those of the graph network, 26,761 % more."""
