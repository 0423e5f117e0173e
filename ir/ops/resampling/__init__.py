"""Resampling of images: resizing, grid sampling, regions of interest."""
