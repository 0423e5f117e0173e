"""Files of measurements name no machine: no serials, UUIDs, bus ids, hosts, users or paths."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("datasets", "lab/perfc_lab")
    for path in (ROOT / folder).rglob("*")
    if path.suffixes[-2:] in ([".csv", ".gz"], [".json", ".gz"])
    or path.suffix in (".csv", ".json", ".toml", ".txt")
)
IDENTITIES = re.compile(
    rb"GPU-[0-9a-f]{8}-[0-9a-f]{4}"
    rb"|uuid\W{1,8}[0-9a-f]{8}-[0-9a-f]{4}"
    rb"|serial(?:[ _]number)?\W{1,60}\d{6,}"
    rb"|pci_bus_id\W{1,8}\d"
    rb"|\b[0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d\b"
    rb"|hostname\W{1,8}\w"
    rb"|# argv:[^\n]* /\w+/|[\s\"'=]/(?:home|Users|tmp)/\w",
    re.IGNORECASE,
)


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def test_no_file_of_data_has_the_identity_of_a_machine() -> None:
    assert len(FILES) > 50
    found = {
        path.relative_to(ROOT).as_posix(): match[0]
        for path in FILES
        if (match := IDENTITIES.search(content(path)))
    }
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        b"GPU UUID : GPU-ab544326-e795-6811-9174-f2bc08306b93",
        b'""uuid"": ""ab544326-e795-6811-9174-f2bc08306b93""',
        b"Serial Number                  : 1654024199665",
        b'""pci_bus_id"": ""0""',
        b"Bus Id : 00000000:00:06.0",
        b"# argv: machine --out /tmp/o",
    ],
)
def test_identities_are_recognized(line: bytes) -> None:
    assert IDENTITIES.search(line)
