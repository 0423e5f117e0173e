"""Exchanges by their links: bytes of each algorithm, waits, floors, and groups in nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc.analyzers.features import networks
from perfc.analyzers.features.networks import (
    LinkExchange,
    hierarchical_s,
    pairwise_s,
    ring_s,
    tree_s,
)
from perfc.distributed.fabric import RankGroup, fabric_of
from perfc.distributed.kinds.data import beside_backward
from perfc.distributed.service import work_of
from perfc.distributed.stage import StageWork
from perfc.distributed.training import Training
from perfc.ir.problem import Exchange
from perfc.machine import Cluster, load_machine
from perfc.machine.parallel import Parallel
from perfc.study.collective import collective

DGX = Cluster.of(load_machine("dgx-h100"))
RATE = 1e9


def without_waits(exchange: Exchange, nbytes: float, ranks: int, nodes: int = 1) -> LinkExchange:
    return LinkExchange(exchange, nbytes, ranks, nodes, 0.0, RATE, 0.0, RATE)


@given(st.integers(2, 512))
def test_a_ring_carries_twice_n_less_one_of_n(ranks: int) -> None:
    carried = ring_s(without_waits(Exchange.ALL_REDUCE, 1e6, ranks)) * RATE
    assert carried == pytest.approx(2 * (ranks - 1) / ranks * 1e6)
    half = ring_s(without_waits(Exchange.REDUCE_SCATTER, 1e6, ranks)) * RATE
    assert half == pytest.approx((ranks - 1) / ranks * 1e6)


@given(st.integers(2, 64), st.integers(2, 64))
def test_parts_of_a_hierarchy_carry_what_a_ring_of_each_level_does(each: int, nodes: int) -> None:
    message = without_waits(Exchange.ALL_REDUCE, 1e6, each * nodes, nodes)
    within, between = 2 * (each - 1) / each, 2 * (nodes - 1) / nodes
    assert hierarchical_s(message) * RATE == pytest.approx((within + between) * 1e6)


def test_small_messages_take_the_tree_and_large_ones_a_ring_or_a_hierarchy() -> None:
    small = LinkExchange.of(Exchange.ALL_REDUCE, 1024, 512, 64, DGX)
    assert networks.time_s(small) < ring_s(small)
    large = LinkExchange.of(Exchange.ALL_REDUCE, 1e10, 16, 2, DGX)
    assert networks.time_s(large) < tree_s(large)


@given(st.sampled_from(list(Exchange)), st.floats(1e3, 1e10), st.integers(1, 7), st.integers(0, 5))
def test_nothing_beats_the_adapters_of_a_node(
    exchange: Exchange, nbytes: float, nodes: int, power: int
) -> None:
    message = LinkExchange.of(exchange, nbytes, (1 << min(power, 3)) * nodes, nodes, DGX)
    assert networks.least_s(message, DGX) <= networks.time_s(message) or message.ranks < 2


@given(st.floats(1e3, 1e9), st.sampled_from(list(Exchange)))
def test_more_bytes_take_no_less(nbytes: float, exchange: Exchange) -> None:
    less, more = (
        networks.time_s(LinkExchange.of(exchange, n, 16, 2, DGX)) for n in (nbytes, 2 * nbytes)
    )
    assert less <= more


def test_one_rank_alone_exchanges_nothing() -> None:
    assert networks.time_s(LinkExchange.of(Exchange.ALL_REDUCE, 1e9, 1, 1, DGX)) == 0.0
    assert fabric_of(str(DGX.machine.path)).time_s(Exchange.ALL_REDUCE, 1e9, RankGroup(1, 8)) == 0.0


def test_a_pair_has_its_part_of_the_adapters() -> None:
    message = LinkExchange.of(Exchange.SEND_RECEIVE, 1e9, 2, 2, DGX)
    rate = networks.NETWORK_EFFICIENCY * DGX.network_bytes_per_s / 8
    assert pairwise_s(message) == pytest.approx(DGX.network_latency_s + 1e9 / rate)


@pytest.mark.parametrize(
    ("size", "stride", "nodes"), [(8, 1, 1), (2, 4, 1), (16, 1, 2), (8, 8, 8), (4, 4, 2), (3, 8, 3)]
)
def test_groups_spread_over_nodes_by_their_stride(size: int, stride: int, nodes: int) -> None:
    assert RankGroup(size, stride).nodes(8) == nodes


def test_the_command_answers_between_nodes_by_the_law_and_within_one_as_learned() -> None:
    dgx = [load_machine("dgx-h100")]
    (between,) = collective("all-reduce", 1 << 30, 16, dgx, nodes=2).rows
    message = LinkExchange.of(Exchange.ALL_REDUCE, 1 << 30, 16, 2, DGX)
    assert between.time_s == pytest.approx(networks.time_s(message))
    assert between.floor_s == pytest.approx((1 << 30) / DGX.network_bytes_per_s)
    assert not between.is_extrapolating
    (within,) = collective("all-reduce", 1 << 30, 8, dgx).rows
    (alone,) = collective("all-reduce", 1 << 30, 8, [load_machine("h100")]).rows
    assert within.time_s == alone.time_s < between.time_s


def test_a_slower_network_takes_longer() -> None:
    rows = collective(
        "all-gather", 1 << 28, 32, [load_machine(n) for n in ("p4d", "bm-gpu4-8")], nodes=4
    ).rows
    assert rows[0].time_s > 2 * rows[1].time_s


def test_a_bucket_of_a_middle_stage_waits_until_it_is_full() -> None:
    work, parallel = work_of("llama-3.2-1b", "dgx-h100"), Parallel(data=2, pipeline=4)
    training, parts = Training(seq=1024, bucket_bytes=1e15), work.parts(parallel, 1, 1024)
    fabric = fabric_of(work.target)
    stage = StageWork(work, parts, 1, parallel, training, fabric, 32)
    nbytes = stage.parameters * training.recipe.sent_bytes
    whole_s = fabric.time_s(Exchange.ALL_REDUCE, nbytes, stage.copies)
    loss = beside_backward(stage, Exchange.ALL_REDUCE, stage.copies)
    assert loss.exchanged_s == pytest.approx(whole_s), "equal layers are one object"
