"""JSON output of targets: ``perfc-target/1``, ``perfc-targets/1``, ``perfc-target-list/1``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from perfc.errors import TargetError
from perfc.ir import record
from perfc.ir.record import project
from perfc.machine import Cluster, Listing, Machine, Rate, load_machine

from .targets import LISTED, Listed, rows


@record
class RateView:
    """A number of a target with its origin.

    Args:
        value: value in SI units.
        origin: origin of the value: vendor, measured, bound or assumed.
        key: entry of the target file.
        from_: names of its sources.
        note: derivation or limits of the value.
        rounds: undisturbed rounds of the measurement; null if the file has none.
        best: fastest round.
        worst: slowest round.
        is_uncertain: True if the rounds were not reproducible.
    """

    value: float
    origin: str
    key: str
    from_: tuple[str, ...]
    note: str
    rounds: int | None
    best: float | None
    worst: float | None
    is_uncertain: bool

    @classmethod
    def of(cls, rate: Rate) -> RateView:
        """Create the view of a rate."""
        spread = {name: getattr(rate.spread, name, None) for name in ("rounds", "best", "worst")}
        sources = tuple(rate.source.split("+"))  # several names are joined by a plus
        return project(cls, rate, origin=str(rate.origin), from_=sources, **spread)


@record
class RowView:
    """One rate: peak, vendor's and measured.

    Args:
        name: name of the unit and element type, or of the level.
        unit: unit of the rates.
        best: peak rate, used for lower bounds.
        nominal: rate from the vendor.
        measured: highest measured rate; null if not measured.
        capacity_bytes: capacity of a memory level.
    """

    name: str
    unit: str
    best: RateView
    nominal: RateView | None
    measured: RateView | None
    capacity_bytes: int | None


@record
class SourceView:
    """Source of numbers: a document or a measurement."""

    name: str
    origin: str
    title: str
    date: str
    note: str


@record
class TargetView:
    """One target with its sources.

    Args:
        name: name for commands.
        aliases: other names.
        kind: ``cuda``, ``cpu`` …
        vendor: vendor.
        arch: architecture.
        description: product name.
        rates: rates of units and memory levels.
        facts: other numbers by key.
        sources: sources by name.
    """

    document: ClassVar[str] = "perfc-target/1"
    name: str
    aliases: tuple[str, ...]
    kind: str
    vendor: str
    arch: str
    description: str
    rates: tuple[RowView, ...]
    facts: Mapping[str, RateView]
    sources: Mapping[str, SourceView]

    @classmethod
    def of(cls, machine: Machine) -> TargetView:
        """Create the view of a machine."""
        rates = tuple(
            project(
                RowView,
                r,
                best=RateView.of(r.best),
                nominal=RateView.of(r.nominal),
                measured=RateView.of(r.measured) if r.measured else None,
            )
            for r in rows(machine)
        )
        sources = {
            name: project(SourceView, s, origin=str(s.origin))
            for name, s in machine.sources.items()
        }
        facts = {key: RateView.of(r) for key, r in machine.facts.items()}
        return project(
            cls, machine, aliases=tuple(machine.aliases), rates=rates, facts=facts, sources=sources
        )


@record
class TargetsView:
    """Several targets in the requested order."""

    document: ClassVar[str] = "perfc-targets/1"
    targets: tuple[TargetView, ...]


@record
class ListedView:
    """One line of the list.

    Args:
        name: name for commands.
        aliases: other names.
        kind: ``cuda``, ``cpu`` …
        description: product name.
        shipped: True if it comes with perfc.
        memory_bytes: device memory; null if unknown.
        bandwidth_bytes_per_s: bandwidth of device memory.
        matrix_op_per_s: matrix rates by element type; null if unsupported.
    """

    name: str
    aliases: tuple[str, ...]
    kind: str
    description: str
    shipped: bool
    memory_bytes: int | None
    bandwidth_bytes_per_s: float | None
    matrix_op_per_s: Mapping[str, float | None]

    @classmethod
    def of(cls, t: Listed) -> ListedView:
        """Create the view of one line."""
        return project(
            cls,
            t.listing,
            aliases=tuple(t.listing.aliases),
            memory_bytes=t.memory_bytes,
            bandwidth_bytes_per_s=t.bandwidth_bytes_per_s,
            # a file that cannot be read has no rates
            matrix_op_per_s=dict(zip(LISTED, t.matrix_per_s, strict=False)),
        )


@record
class ClusterView:
    """One cluster of the list; rates are per direction.

    Args:
        name: name for commands.
        aliases: other names.
        description: product name.
        shipped: True if it comes with perfc.
        gpu: target of each GPU; null, like the numbers, if the file cannot be read.
        gpus_per_node: GPUs per node.
        nvlink_gpus: GPUs connected by NVLink.
        nvlink_bytes_per_s: NVLink bandwidth per GPU.
        network_bytes_per_s: network bandwidth per node.
    """

    name: str
    aliases: tuple[str, ...]
    description: str
    shipped: bool
    gpu: str | None
    gpus_per_node: int | None
    nvlink_gpus: int | None
    nvlink_bytes_per_s: float | None
    network_bytes_per_s: float | None

    @classmethod
    def of(cls, listing: Listing) -> ClusterView:
        """Create the view of one line."""
        texts = (listing.name, listing.aliases, listing.description, listing.shipped)
        try:
            c = Cluster.of(load_machine(listing.path))
        except TargetError:
            return cls(*texts, None, None, None, None, None)
        return cls(
            *texts,
            gpu=c.machine.name,
            gpus_per_node=c.gpus_per_node,
            nvlink_gpus=c.joined,
            nvlink_bytes_per_s=c.nvlink_bytes_per_s or None,
            network_bytes_per_s=c.network_bytes_per_s,
        )


@record
class TargetListView:
    """List of all targets and clusters."""

    document: ClassVar[str] = "perfc-target-list/1"
    targets: tuple[ListedView, ...]
    clusters: tuple[ClusterView, ...]


def show_json(machines: Sequence[Machine]) -> str:
    """Return targets as JSON; a list for several."""
    from perfc.view.report.formats.json_form import document_text

    views = tuple(map(TargetView.of, machines))
    view = views[0] if len(views) == 1 else TargetsView(views)
    return document_text(view.document, view)


def list_json(listings: Sequence[Listing], clusters: Sequence[Listing] = ()) -> str:
    """Return the list of targets as JSON."""
    from perfc.view.report.formats.json_form import document_text

    view = TargetListView(
        tuple(ListedView.of(Listed.of(t)) for t in listings), tuple(map(ClusterView.of, clusters))
    )
    return document_text(view.document, view)
