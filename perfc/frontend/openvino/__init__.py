"""Models of OpenVINO, read with the standard library."""
