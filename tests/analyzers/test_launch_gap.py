"""Gaps of recorded graphs are those a target states, else a share of the host's launch."""

from __future__ import annotations

import pytest

from perfc.analyzers.launch_gap import gap
from perfc.machine import load_machine
from perfc.passes.roofline import GRAPH_GAP
from perfc.passes.runtimes import Launch


def test_a_graph_waits_as_long_as_the_target_states() -> None:
    machine = load_machine("h100-sxm5-80gb")
    stated = machine.device("launch_graph_s")
    assert stated is not None
    found = gap(machine, Launch.GRAPH)
    assert found.time_s == stated.value
    assert found.low_s < found.time_s < found.high_s


def test_without_one_a_share_of_the_hosts_launch_is_assumed() -> None:
    machine = load_machine("rtx3090")
    assert machine.device("launch_graph_s") is None
    eager, graph = gap(machine, Launch.EAGER), gap(machine, Launch.GRAPH)
    assert graph.time_s == pytest.approx(GRAPH_GAP * eager.time_s)
    assert graph.high_s / graph.time_s >= eager.high_s / eager.time_s
