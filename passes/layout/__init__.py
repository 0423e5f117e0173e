"""Launches of a runtime: its kernels with the conversions, copies and fills around them."""
