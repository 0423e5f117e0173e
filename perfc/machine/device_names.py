"""Convert names of devices as drivers print them to the spelling of target names."""

from __future__ import annotations

import re
from functools import lru_cache

MAKERS = (
    "nvidia",
    "amd",
    "intel",
    "google",
    "apple",
    "aws",
    "tesla",
    "geforce",
    "radeon",
    "instinct",
)
"""Vendors and product lines that names may omit."""
_MARKS = re.compile(r"\((?:r|tm|c)\)|[()\[\]®™]|\s+@.*|\s+cpu\b|\s+\d+-core processor.*")
"""Parts that drivers add to names: trademarks, clocks (``@ 2.60GHz``), number of cores."""
_SLICE = re.compile(r"[\s-]mig[\s-]+(?=\d+g\.)", re.IGNORECASE)
"""Mark of a slice in names of devices: ``NVIDIA A100 MIG 3g.20gb``."""
_MEMORY = re.compile(r"(?<![a-z0-9])(?:(\d+)-?g(?:i?b)?|hbm\d?e?|l?p?g?ddr\d?x?)(?![a-z0-9])-?")
"""Sizes and kinds of memory in names: ``80gb``, ``hbm3``, ``lpddr5x``."""
LONGEST = 64
"""Characters of the longest name."""


def without_slice_marker(name: str) -> str:
    """Return a name with ``/`` before the profile of a MIG slice, as targets have it.

    >>> without_slice_marker("NVIDIA A100-SXM4-40GB MIG 3g.20gb")
    'NVIDIA A100-SXM4-40GB/3g.20gb'
    """
    return _SLICE.sub("/", name)


def spelled(name: str) -> str:
    """Return a name in the spelling of target names, "" if it is too long for one.

    >>> spelled("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz")
    'intel-xeon-gold-6148'
    """
    # names of targets have no plus sign
    plain = _MARKS.sub("", name.strip().lower()).replace("+", "plus")
    slug = re.sub(r"[\s_-]+", "-", plain).strip("-")
    return slug if len(slug) <= LONGEST else ""


@lru_cache(maxsize=2048)
def compact(name: str) -> str:
    """Return a spelled name without separators and vendors, by which names are compared.

    >>> compact("nvidia-geforce-rtx-4060-ti"), compact("rtx4060-ti")
    ('rtx4060ti', 'rtx4060ti')
    """
    letters = name.replace("-", "")
    # the vendor, then the product line; a name that is nothing else stays
    while maker := next((m for m in MAKERS if letters.startswith(m) and letters != m), ""):
        letters = letters.removeprefix(maker)
    return letters


@lru_cache(maxsize=2048)
def without_memory(name: str) -> tuple[str, int]:
    """Return a spelled name without the size and kind of its memory, and the size in GB or 0.

    >>> without_memory("h100-80gb-hbm3"), without_memory("a10g")
    (('h100', 80), ('a10g', 0))
    """
    sizes = [int(size) for size in _MEMORY.findall(name) if size]
    return _MEMORY.sub("", name).strip("-"), sizes[0] if sizes else 0
