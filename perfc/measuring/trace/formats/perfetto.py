"""Read traces of rocprofv3 ``--output-format pftrace``: slices of Perfetto, a track per queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perfc.ir import mutable

from ...measure.runtimes.events import integer
from ..facts import DeviceTrace, TraceSource
from ..timeline import HostTimeline
from ..wire import Fields, decoded

SCHEMA = """
Trace 1 packets TracePacket*
TracePacket 8 at int 10 sequence int 11 event TrackEvent 12 names InternedData 59 usual Defaults
InternedData 1 categories Name* 2 events Name* 3 arguments Name* 29 texts Name*
Name 1 iid int 2 name text
Defaults 11 event TrackEvent
TrackEvent 9 type int 11 track int 10 name_iid int 23 name text 3 category_iid int \
22 category text 4 arguments Argument*
Argument 1 name_iid int 10 name text 3 count int 4 number int 6 text text
"""
"""Messages of a trace. Source: protos/perfetto/trace of Perfetto."""
BEGIN, END = 1, 2
"""Beginning and end of a slice. Source: protos/perfetto/trace/track_event/track_event.proto,
Type."""
# categories of slices on a device
DISPATCH, COPY = "kernel_dispatch", "memory_copy"
# words of rocprofv3 in the first bytes; other programs write Perfetto's format too
WORDS = (DISPATCH, COPY, "hip_api", "hip_runtime_api", "hsa_api", "rocprof", "track_event")
DIRECTIONS = (
    ("HOST_TO_HOST", "HtoH"),
    ("HOST_TO_DEVICE", "HtoD"),
    ("DEVICE_TO_HOST", "DtoH"),
    ("DEVICE_TO_DEVICE", "DtoD"),
)
"""Names of copies as Kineto has them, so that both count as one."""


def reads(head: str) -> bool:
    """Return True for a trace of Perfetto."""
    # 0x0A, a line feed, is the tag of field 1 (packets) of a message
    return head.startswith("\n") and any(word in head for word in WORDS)


@mutable
class PerfettoTrack:
    """State of one writer of packets.

    ``names`` are by table and number; events without a track have ``track``.
    """

    names: dict[tuple[str, int], str] = field(default_factory=dict)
    track: int = 0

    def text(self, event: Fields, key: str, table: str) -> str:
        """Return a name that an event has as text, or as the number of one."""
        known = self.names.get((table, event.get(f"{key}_iid", 0)), "")
        return str(event.get(key) or known)


@mutable
class PerfettoEvents:
    """Open slices by track, and what is complete.

    Args:
        timeline: kernels and calls of the host.
        writers: writers of packets by their number.
        slices: name, category, begin and arguments of the slices that are open, by track.
    """

    timeline: HostTimeline
    writers: dict[int, PerfettoTrack] = field(default_factory=dict)
    slices: dict[int, list[tuple[str, str, int, Mapping[str, int]]]] = field(default_factory=dict)

    def packet(self, packet: Fields) -> None:
        """Add the content of a packet."""
        writer = self.writers.setdefault(packet.get("sequence", 0), PerfettoTrack())
        for table, entries in packet.get("names", {}).items():
            writer.names |= {(table, e.get("iid", 0)): e.get("name", "") for e in entries}
        writer.track = packet.get("usual", {}).get("event", {}).get("track", writer.track)
        event, at_ns = packet.get("event"), packet.get("at", 0)
        if event is None:
            return
        # an end closes the slice of its track that was opened last
        opened = self.slices.setdefault(event.get("track", writer.track), [])
        if event.get("type") == BEGIN:
            arguments = {
                writer.text(a, "name", "arguments"): a.get("count", a.get("number", 0))
                for a in event.get("arguments", ())
            }
            name = writer.text(event, "name", "events")
            opened.append((name, writer.text(event, "category", "categories"), at_ns, arguments))
        elif event.get("type") == END and opened:
            self.closed(*opened.pop(), end_ns=at_ns, track=event.get("track", writer.track))

    def closed(
        self,
        name: str,
        category: str,
        begin_ns: int,
        arguments: Mapping[str, int],
        end_ns: int,
        track: int,
    ) -> None:
        """Add a slice; times of the profiler are exact where it wrote them."""
        begin_ns = integer(arguments, "begin_ns") or begin_ns
        end_ns = integer(arguments, "end_ns") or end_ns
        correlation = integer(arguments, "corr_id")
        length = end_ns - begin_ns
        if category == DISPATCH:
            device = arguments.get("agent", 0)
            self.timeline.kernel(name or "kernel", device, begin_ns, length, correlation)
        elif category == COPY:
            way = next((short for word, short in DIRECTIONS if word in name.upper()), "")
            source = arguments.get("src_agent", 0)
            device = source if way == "DtoH" else arguments.get("dst_agent", source)
            self.timeline.kernel(f"Memcpy {way}".rstrip(), device, begin_ns, length, correlation)
        elif correlation is not None:
            self.timeline.call(name, track, begin_ns, max(begin_ns, end_ns), correlation)


def read(path: str) -> DeviceTrace:
    """Read dispatches and copies.

    Raises:
        ParseError: damaged, cut, or too large.
    """
    trace = DeviceTrace(TraceSource.ROCPROF)
    seen = PerfettoEvents(HostTimeline(trace))
    decoded(path, SCHEMA, "Trace", "TracePacket", seen.packet)
    trace.is_cut = any(seen.slices.values())  # slices that are still open
    seen.timeline.fill()
    return trace
