"""Names of devices as drivers print them, in the spelling of target names."""

from __future__ import annotations

import re
from collections.abc import Iterator

PREFIXES = ("nvidia-", "amd-", "intel-", "google-", "tesla-", "geforce-")
"""Vendors and product lines that target names omit."""
_MARKS = re.compile(r"\((?:r|tm|c)\)|[()\[\]®™]|\s+@.*|\s+cpu\b|\s+\d+-core processor.*")
_SLICE = re.compile(r"[\s-]mig[\s-]+(?=\d+g\.)", re.IGNORECASE)
LONGEST = 64
"""Characters of the longest name."""


def without_slice_marker(name: str) -> str:
    """Return a name with ``/`` before the profile of a MIG slice, as targets have it.

    >>> without_slice_marker("NVIDIA A100-SXM4-40GB MIG 3g.20gb")
    'NVIDIA A100-SXM4-40GB/3g.20gb'
    """
    return _SLICE.sub("/", name)


def spellings(name: str) -> Iterator[str]:
    """Yield the names under which a target may be listed, the most complete first.

    >>> list(spellings("NVIDIA GeForce RTX 4090"))
    ['nvidia-geforce-rtx-4090', 'geforce-rtx-4090', 'rtx-4090']
    """
    plain = _MARKS.sub("", name.strip().lower()).replace("+", "plus")
    slug = re.sub(r"[\s_-]+", "-", plain).strip("-")
    if len(slug) > LONGEST:
        return
    yield slug
    while prefix := next((p for p in PREFIXES if slug.startswith(p)), ""):
        slug = slug.removeprefix(prefix)
        yield slug
