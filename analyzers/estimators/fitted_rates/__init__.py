"""Classes of kernels on processors, and kernels as numbers: of an analysis or of a row."""
