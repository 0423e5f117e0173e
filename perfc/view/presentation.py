"""Report methods for programs and notebooks: show, save, convert."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, cast

from perfc.errors import PerfcError

if TYPE_CHECKING:
    import pandas

    from perfc.api import Report
    from perfc.view.report import Verdict, Views
    from perfc.view.report.counts import Counts

FORMATS = ("text", "json", "markdown", "csv", "trace", "html")
"""Formats of a report, the default first."""
WIDTH = 120
"""Columns of text outside of a terminal."""


class Presentation:
    """Views of a report and their output formats; part of `perfc.Report`."""

    @cached_property
    def views(self) -> Views:
        """Return all data of the report, collected once.

        Raises:
            PerfcError: no prediction is possible.
        """
        from perfc.view.report import collect

        return collect(self._report)

    @property
    def verdict(self) -> Verdict:
        """Return the headline: the figures of the first screen, with the interval of the time.

        Raises:
            PerfcError: no prediction is possible.
        """
        return self.views.verdict

    @property
    def time_s(self) -> float:
        """Return the predicted time of a run."""
        return self.verdict.time_s

    @property
    def bound_s(self) -> float:
        """Return the lower bound of the time of a run."""
        return self.verdict.floor_s

    @property
    def throughput(self) -> float:
        """Return the images, tokens or else runs per second at the predicted time."""
        return self.verdict.throughput.per_s

    @property
    def memory_bytes(self) -> int:
        """Return the device memory of a run: weights, activations and context."""
        return self.verdict.memory.total_bytes

    @property
    def energy_j(self) -> float | None:
        """Return the energy of the board in a run; None without a fitted power model."""
        energy = self.verdict.energy
        return None if energy is None else energy.mid

    @property
    def flops(self) -> int:
        """Return the floating-point operations of a run, of its kernels; 1 MAC is 2 of them."""
        return int(self.views.work.flop.value or 0)

    @property
    def macs(self) -> int:
        """Return the multiply-accumulates of a run."""
        return int(self.views.work.mac.value or 0)

    @property
    def parameters(self) -> int:
        """Return the number of elements of the parameters; `parameter_table` has each tensor."""
        return int(self.views.work.parameters.value or 0)

    def count_as(self, convention: str) -> Counts:
        """Count operations as another FLOP counter does, like ``perfc analyze --count-as``.

        Args:
            convention: ``calflops``, ``deepspeed``, ``fvcore``, ``ptflops``, ``thop`` or ``torch``.

        Raises:
            PassError: an unknown convention.
        """
        from perfc.view.report import counts

        return counts.collect(self._report, convention)

    @property
    def _report(self) -> Report:
        return cast("Report", self)  # the only class that inherits from this one

    def __repr__(self) -> str:
        """Return the answer in three lines."""
        from perfc.view.report.formats import screen

        try:
            return "\n".join(screen.summary_lines(self.views))
        except PerfcError as error:
            report = self._report
            return f"{report.path or report.source.name} on {report.machine.name}: {error}"

    def _repr_html_(self) -> str | None:
        """Return the summary as HTML for a notebook; None falls back to text."""
        from perfc.view.report.formats import notebook, screen

        try:
            return notebook.render(screen.lines(self.views, WIDTH))
        except PerfcError:
            return None

    def to_dict(self) -> dict[str, object]:
        """Return the JSON document of the report, schema ``perfc-report/1``.

        Raises:
            PerfcError: no prediction is possible.
        """
        from perfc.view.report.formats import json_form

        return json_form.tree(self.views)

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row per kernel in execution order, with the columns of ``-o kernels.csv``.

        Times are in seconds, sizes in bytes, energy in joules. Unknown values are missing.

        Raises:
            MissingExtraError: pandas is not installed.
            PerfcError: no prediction is possible.
        """
        from perfc.view.report.formats import comma
        from perfc.view.result import data_frame

        return data_frame(comma.HEADER, [[*comma.fields(row)] for row in self.views.kernels])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report in the format of the suffix, as with ``--output``.

        ``.html`` is the page with charts, ``.json`` the document, ``.md`` the whole report,
        ``.csv`` the kernels and ``.txt`` the summary. The file is replaced atomically.

        Args:
            path: output file.

        Raises:
            PerfcError: an unknown suffix, a file that cannot be written, or no prediction is
                possible.
        """
        from perfc.view.result import save

        save(path, FORMATS, self._formatted)

    def _formatted(self, form: str) -> str:
        """Return the report in a format: a page, the summary, or whole."""
        from perfc.common.plain_text import shielded
        from perfc.view.report import DEFAULT, TOP, Format, written
        from perfc.view.report.formats import screen

        if form == "html":
            from perfc.view.html import page

            return page(self._report, self.views)
        if form == "text":
            return shielded(screen.render(self.views, WIDTH))
        return shielded(written(self.views, Format(form), DEFAULT, TOP, WIDTH))
