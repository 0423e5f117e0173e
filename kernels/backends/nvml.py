"""Clocks, power and energy of an NVIDIA device, if NVML is available."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


class Nvml:
    """One device; readings that fail are omitted.

    Args:
        bus_id: PCI address, as CUDA reports it.
    """

    def __init__(self, bus_id: str) -> None:
        self.library: Any = None
        self.handle: Any = None
        try:
            pynvml = import_module("pynvml")
            pynvml.nvmlInit()
            self.handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode())
            self.library = pynvml
        except Exception:  # no module, no library, no permission: readings are extras
            self.library = None

    def _read(self, name: str, *arguments: object) -> float | None:
        """Return one reading in NVML's unit; None if it is not available."""
        if self.library is None:
            return None
        try:
            return float(getattr(self.library, name)(self.handle, *arguments))
        except Exception:  # not supported by this device
            return None

    def state(self) -> Mapping[str, float]:
        """Return the readings that are available now."""
        # NVML_CLOCK_SM is 1, NVML_CLOCK_MEM 2, NVML_TEMPERATURE_GPU 0; readings are in MHz and mW
        readings = {
            "clock_hz": (self._read("nvmlDeviceGetClockInfo", 1), 1e6),
            "memory_clock_hz": (self._read("nvmlDeviceGetClockInfo", 2), 1e6),
            "power_w": (self._read("nvmlDeviceGetPowerUsage"), 1e-3),
            "temperature_c": (self._read("nvmlDeviceGetTemperature", 0), 1.0),
            "throttle_reasons": (self._read("nvmlDeviceGetCurrentClocksThrottleReasons"), 1.0),
        }
        return {k: v * scale for k, (v, scale) in readings.items() if v is not None}

    def energy_j(self) -> float | None:
        """Return the energy since the driver was loaded."""
        reading = self._read("nvmlDeviceGetTotalEnergyConsumption")
        return None if reading is None else reading * 1e-3

    def power_w(self) -> float | None:
        """Return the current power, averaged by the device over some milliseconds."""
        reading = self._read("nvmlDeviceGetPowerUsage")
        return None if reading is None else reading * 1e-3

    def busy_share(self) -> float | None:
        """Return the share of the last sampling period (1/6 s to 1 s) in which a kernel ran."""
        if self.library is None:
            return None
        try:
            return float(self.library.nvmlDeviceGetUtilizationRates(self.handle).gpu) / 100
        except Exception:  # not supported by this device
            return None

    def driver(self) -> str:
        """Return the version of the driver."""
        if self.library is None:
            return ""
        try:
            version = self.library.nvmlSystemGetDriverVersion()
        except Exception:  # readings are extras
            return ""
        return version.decode() if isinstance(version, bytes) else str(version)
