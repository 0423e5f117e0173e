"""C and CUDA sources of the probes, compiled on the machine they measure."""
