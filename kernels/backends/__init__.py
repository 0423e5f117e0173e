"""Devices that can be measured: processors, CUDA devices, a simulated one."""
