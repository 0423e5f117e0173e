"""Configurations of the Hugging Face hub: from the local cache, or downloaded with its library."""

from __future__ import annotations

import os
import re

from perfc.common.extras import install_package
from perfc.errors import ModelError, reason_of

from ..reading.folder import BY_NAME

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
"""Names on the Hub, ``owner/name``; each part has at most 96 characters."""
FILES = (*BY_NAME, ".gz", ".txt", ".py", ".pt")
"""Suffixes of files: a name with one of them is a path, not a name on the Hub."""
REVISION = re.compile(r"[0-9a-f]{7,64}")
"""Name of the folder of a snapshot in the Hub's cache: a commit."""
VARIANT = re.compile(
    r"^meta-|-(?:chat|instruct|it|base|hf|uncased)(?=-|$)|-v0\.1$", re.IGNORECASE | re.ASCII
)
"""Parts of a name on which the extents of its network do not depend."""
WAIT_S = 5.0
"""Seconds until the hub counts as unreachable; its library would try for half a minute."""
YES = ("1", "ON", "YES", "TRUE")
"""Values that set a variable of the library."""
FILE, LIBRARY = "config.json", "huggingface_hub"


def is_hub_id(name: str) -> bool:
    """Return True for ``organization/name``, unless this path or its folder exists."""
    if not HUB_ID.fullmatch(name) or name.lower().endswith(FILES):
        return False
    return not os.path.exists(name) and not os.path.isdir(os.path.dirname(name))


def plain_names(name: str) -> tuple[str, ...]:
    """Return the short name of a model, then names that each lack one more part of a variant."""
    names = [name.lower().rpartition("/")[2]]
    # parts are taken off one by one, the last first: x-chat-hf, x-chat, x
    while parts := list(VARIANT.finditer(names[-1])):
        start, end = parts[-1].span()
        names.append(names[-1][:start] + names[-1][end:])
    return tuple(names)


def cache_folder() -> str:
    """Return the folder of the hub's local cache, which variables of the environment move."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return os.environ[variable]
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.environ.get("HF_HOME") or os.path.join(caches, "huggingface"), "hub")


def cached(name: str) -> str:
    """Return the path of a configuration in the local cache, first of ``main``; "" without one."""
    folder = os.path.join(cache_folder(), "models--" + name.replace("/", "--"))
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="ascii") as file:
            main = file.read(128).strip()  # a commit has 40 digits, or 64 by SHA-256
        snapshots = sorted(os.listdir(os.path.join(folder, "snapshots")))
    except (OSError, ValueError):
        return ""
    # the commit of `main` first; other snapshots may lack the file
    revisions = [s for s in (main, *snapshots) if REVISION.fullmatch(s)]
    paths = [os.path.join(folder, "snapshots", revision, FILE) for revision in revisions]
    return next(filter(os.path.isfile, paths), "")


def reachable() -> bool:
    """Return False if the hub's server does not answer; the library would try for half a minute."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    # only the library can reach the server through a proxy
    if getproxies():
        return True
    address = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    try:
        port = address.port or (80 if address.scheme == "http" else 443)
        with socket.create_connection((address.hostname or "", port), timeout=WAIT_S):
            return True
    except (OSError, ValueError):
        return False


def downloaded(name: str, hint: str) -> str:
    """Return the path of a configuration that the hub's library downloads to its cache.

    Args:
        name: ``organization/name``.
        hint: what else to do.

    Raises:
        ModelError: the library is not installed, or does not get the file.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in YES:
        message = f"{name!r} is not in the local cache of the hub, and HF_HUB_OFFLINE is set"
        raise ModelError(message, hint=hint)
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        way = f"{install_package(LIBRARY)}, or {hint}"
        raise ModelError(f"{name!r} is not in the local cache of the hub", hint=way) from None
    if not reachable():
        raise ModelError(f"no connection to the hub to look up {name!r}", hint=hint)
    try:
        # the library's default of 10 s, even if a variable of the environment has another limit
        return str(hf_hub_download(name, FILE, etag_timeout=10))
    except Exception as error:
        reason = reason_of(error) or type(error).__name__
        raise ModelError(f"the hub gives no {FILE} of {name!r}: {reason}", hint=hint) from None
