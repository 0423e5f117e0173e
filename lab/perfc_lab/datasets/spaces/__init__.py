"""Architectures of search spaces, built in the IR from the strings that tables name them by."""
