"""Formats that pipelines of continuous integration read."""
