"""Gaps of recorded graphs are those a target states, else a share of the host's launch."""

from __future__ import annotations

import pytest

from perfc.analyzers.runs.host import launch_gap
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import GRAPH_GAP
from perfc.passes.runtimes import LaunchMode


def test_a_graph_waits_as_long_as_the_target_states() -> None:
    machine = load_machine("h100-sxm5-80gb")
    stated = machine.device("launch_graph_s")
    assert stated is not None
    found = launch_gap(machine, LaunchMode.GRAPH)
    assert found.mid == stated.value
    assert found.low < found.mid < found.high


def test_without_one_a_share_of_the_hosts_launch_is_assumed() -> None:
    machine = load_machine("rtx3090")
    assert machine.device("launch_graph_s") is None
    eager, graph = launch_gap(machine, LaunchMode.EAGER), launch_gap(machine, LaunchMode.GRAPH)
    assert graph.mid == pytest.approx(GRAPH_GAP * eager.mid)
    assert graph.high / graph.mid >= eager.high / eager.mid
