"""The watched commands from commit to commit, for airspeed velocity (asv).

    asv --config benchmarks/asv.conf.json run COMMIT^!
    asv --config benchmarks/asv.conf.json compare COMMIT HEAD

asv installs each commit in a separate environment; the cases are those of the working tree.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from .processes import CASES, Sample, run_apart


class WholeProcess:
    """A command as a user types it, in a separate process, start-up included."""

    params = (list(CASES),)
    param_names = ("command",)
    timeout = 900

    def setup(self, name: str) -> None:
        """Write the graph that the command reads."""
        self.folder = tempfile.TemporaryDirectory()
        self.command = CASES[name].command(Path(self.folder.name))

    def teardown(self, name: str) -> None:
        """Remove it."""
        self.folder.cleanup()

    def track_processor_s(self, name: str) -> float:
        """Return the least processor time of the runs: other programs only add to it."""
        return min(self.sample().cpu_s for _ in range(CASES[name].repeats))

    def track_peak_mib(self, name: str) -> float:
        """Return the peak resident memory."""
        return self.sample().peak_mib

    def sample(self) -> Sample:
        """Return one run of the installed perfc."""
        return run_apart(self.command, Path(self.folder.name))

    track_processor_s.unit = "s"
    track_peak_mib.unit = "MiB"
