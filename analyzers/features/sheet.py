"""Data sheet of a target as predictors read it: rated numbers in SI units, with defaults."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from perfc.common.fitted import constants_next_to
from perfc.ir import frozen
from perfc.machine import Machine, MemoryLevel, Unit

TWINNED = frozenset({"causal_convolution", "experts", "latent_attention", "linear_attention"})
"""Kernel classes whose forests know only one 16-bit type, bf16: all measured rows are of machines
with bf16, where rows of f16 are recorded as bf16 too. `Sheet.of_class` therefore gives a machine
without bf16 its f16 rate under the name of bf16."""


@frozen
class Sheet:
    """A machine as features: rates of its data sheet, never measured ones.

    Each property has a default for a number that the target file leaves out, so that a machine
    without measurements needs a file of a few numbers only. Defaults other than 0 are of the order
    of magnitude of common GPUs.
    """

    machine: Machine

    @classmethod
    def of_class(cls, class_name: str, machine: Machine) -> Sheet:
        """Return the data sheet from which features of a kernel class are computed.

        For a class in `TWINNED`, a machine without bf16 has its f16 rate as that of bf16.
        """
        if class_name not in TWINNED or machine.takes("bf16"):
            return cls(machine)
        half = {(Unit.MATRIX, "bf16"): machine.entry(Unit.MATRIX, "f16")}
        return cls(replace(machine, compute={**machine.compute, **half}))

    @property
    def name(self) -> str:
        """Return the name of the target."""
        return self.machine.name

    @cached_property
    def has_equal_halves(self) -> bool:
        """Return True if products of f16 and bf16 take the same time, on the same units.

        They do if bf16 is rated at least as fast. On NVIDIA's GeForce boards the rated f16 rate is
        twice the bf16 rate, as it is that of sums in f16; frameworks sum in f32, which takes as
        long as bf16.
        """
        # up to twice on NVIDIA, where the rated f16 rate may be that of sums in f16
        half, brain = (self.machine.entry(Unit.MATRIX, t).nominal.value for t in ("f16", "bf16"))
        doubled = 2.0 if self.machine.vendor == "NVIDIA" else 1.0
        return doubled * brain >= half

    @cached_property
    def sm_count(self) -> int:
        """Return the number of streaming multiprocessors of a GPU, or of cores of a processor."""
        return self.machine.sm_count

    @cached_property
    def cycle_s(self) -> float:
        """Return the time per element if each multiprocessor processes one per clock cycle."""
        return 1 / (self.sm_count * self.clock_hz)

    @cached_property
    def clock_hz(self) -> float:
        """Return the boost clock, or the maximum clock; 1.5 GHz if not given."""
        return self._device("clock_boost_hz", self._device("clock_max_hz", 1.5e9))

    @cached_property
    def base_clock_share(self) -> float:
        """Return base over boost clock, the least share of the boost clock under a power limit.

        It is 0.75 if no base clock is given, and 1 at most.
        """
        return min(self._device("clock_base_hz", 0.75 * self.clock_hz) / self.clock_hz, 1.0)

    @cached_property
    def threads_per_sm(self) -> int:
        """Return the maximum number of resident threads of a multiprocessor; 2048 if not given."""
        return int(self._device("max_threads_per_sm", 2048.0))

    @cached_property
    def power_w(self) -> float:
        """Return the power limit of the board, 0 if not given."""
        return self._device("tdp_w", 0.0)

    @cached_property
    def process_node_m(self) -> float:
        """Return the process node in metres; 12 nm if not given."""
        return self._device("process_node_m", 12e-9)

    @cached_property
    def launch_s(self) -> float:
        """Return the host's time of an eager launch; 5 µs if not given."""
        return self._device("launch_overhead_s", 5e-6)

    @cached_property
    def shared_memory_bytes(self) -> float:
        """Return the shared memory of one multiprocessor; 64 KiB if not given."""
        return self._device("shared_memory_per_sm_bytes", 65536.0)

    @cached_property
    def generation(self) -> float:
        """Return the compute capability as a number, such as 8.9 for ``sm_89``; 0 without CUDA."""
        return self.machine.capability / 10

    @cached_property
    def sustained(self) -> dict[str, float]:
        """Return the cache of sustained rates of products by type, which `power_limit` fills."""
        return {}

    def matrix_flop_per_s(self, dtype: str, *, tf32: bool = True) -> float:
        """Return the dense rate of the fastest unit for products of a type."""
        return self.machine.entry(Unit.MATRIX, dtype, allow_tf32=tf32).nominal.value

    def vector_flop_per_s(self, dtype: str) -> float:
        """Return the rate of vector units."""
        return self.machine.entry(Unit.VECTOR, dtype).nominal.value

    def special_op_per_s(self, dtype: str) -> float:
        """Return the transcendental functions per second."""
        return self.machine.entry(Unit.SPECIAL, dtype).nominal.value

    @cached_property
    def device_bytes_per_s(self) -> float:
        """Return the bandwidth of device memory; 100 GB/s if not given."""
        level = self._level("device")
        return level.nominal.value if level else 1e11

    @cached_property
    def device_bytes(self) -> float:
        """Return the capacity of device memory; 0 if not given."""
        level = self._level("device")
        return float(level.capacity_bytes) if level else 0.0

    @cached_property
    def l2_bytes(self) -> float:
        """Return the capacity of the last cache, 0 if not given."""
        level = self._level("l2")
        return float(level.capacity_bytes) if level else 0.0

    @cached_property
    def l2_bytes_per_s(self) -> float:
        """Return the bandwidth of the last cache; three times device memory if not given."""
        level = self._level("l2")
        return level.nominal.value if level else 3 * self.device_bytes_per_s

    @cached_property
    def l1_bytes(self) -> float:
        """Return the capacity of all first-level caches; that of shared memory if not given."""
        level = self._level("l1")
        return float(level.capacity_bytes) if level else self.sm_count * self.shared_memory_bytes

    def ridge_flop_per_byte(self, dtype: str) -> float:
        """Return the arithmetic intensity at which matrix unit and device memory take as long."""
        return self.matrix_flop_per_s(dtype) / self.device_bytes_per_s

    def _device(self, key: str, otherwise: float) -> float:
        """Return a number of the target's device section; ``otherwise`` if it has none."""
        rate = self.machine.device(key)
        return rate.value if rate is not None else otherwise

    def _level(self, name: str) -> MemoryLevel | None:
        """Return a level of memory, None if the target has none of this name."""
        return self.machine.level(name)


MEMORY_SHARE = constants_next_to(__file__)["memory_share"].number
"""Weight of device memory in the logarithm of an effective bandwidth; multiprocessors have the
rest."""
PORT_BYTES = 16 / 3
"""Bytes per clock that a multiprocessor moves. Its value does not matter, as it is the same on all
boards and factors of laws include any constant; only ratios between boards do."""


@frozen
class EffectiveSheet(Sheet):
    """A data sheet for features, with the effective bandwidth instead of the rated one.

    Kernels that a roofline calls memory-bound also take time in the multiprocessors that move the
    bytes, at the clock that the board's power limit allows: a board with twice the bandwidth, but
    as many multiprocessors at the same clock, is not twice as fast over whole networks.

    >>> from perfc.machine import load_machine
    >>> board = load_machine("rtx4090")
    >>> f"{Sheet(board).device_bytes_per_s:.2e}, {EffectiveSheet(board).device_bytes_per_s:.2e}"
    '1.01e+12, 1.10e+12'
    """

    @cached_property
    def device_bytes_per_s(self) -> float:
        """Return the geometric mean of the bandwidths of memory and of multiprocessors."""
        memory = Sheet(self.machine).device_bytes_per_s
        # at the base clock, which a board keeps under its power limit
        ports = PORT_BYTES * self.sm_count * self.clock_hz * self.base_clock_share
        return memory**MEMORY_SHARE * ports ** (1 - MEMORY_SHARE) if ports > 0 else memory
