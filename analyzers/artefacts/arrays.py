"""Write and read named arrays as one compressed file, the weights of a shipped predictor.

A file holds numbers alone, no pickled objects: reading a file of unknown origin runs no code.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 512 << 20
"""Maximum size of all arrays of a file after decompression, in bytes: a limit on files of unknown
origin that inflate to far more than their size (zip bombs). Shipped files have a few MiB."""
WORTH_INFLATING = 0.25
"""Largest ratio of deflated to plain size at which an array is deflated. Above this ratio deflation
saves too few bytes for its time: inflating an array takes longer than computing with it."""

_HEAD = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '\|u1', 'fortran_order': False, 'shape': "
    rb"\(((?:[0-9]{1,15},? ?){1,4})\), \} *\n",
    re.DOTALL,
)
"""Header of an archive member: an array of bytes in NumPy's format, version 1."""


def packed(arrays: Mapping[str, Any]) -> bytes:
    """Return the content of a file of arrays: NumPy's ``.npz``, deflated where that saves much.

    Bytes of equal significance are adjacent, ``[bytes, *shape]`` under ``name:dtype``: planes of
    high bytes repeat and compress better than whole numbers (the shuffle filter of HDF5).
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}:{array.dtype.str}.npy")
            member = io.BytesIO()
            np.lib.format.write_array(member, _planes(array), allow_pickle=False)
            content = member.getvalue()
            saves_much = len(zlib.compress(content)) <= WORTH_INFLATING * len(content)
            info.compress_type = zipfile.ZIP_DEFLATED if saves_much else zipfile.ZIP_STORED
            archive.writestr(info, content)
    return buffer.getvalue()


def unpacked(content: bytes, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, Any]:
    """Return the arrays of a file that `packed` wrote; object arrays are refused.

    Args:
        content: content of the file.
        wanted: whether an array of that name is read.

    Raises:
        ValueError: it is no such file, or unpacks to more than ``MAX_BYTES``.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            # the directory of the archive has the sizes, so that nothing is inflated before
            if sum(info.file_size for info in members) > MAX_BYTES:
                raise ValueError(f"arrays end at {MAX_BYTES} bytes")
            for info in members:
                name, _, dtype = info.filename.removesuffix(".npy").rpartition(":")
                if name and wanted(name):
                    arrays[name] = _numbers(_bytewise(archive.read(info)), dtype)
    except (  # zipfile and zlib raise all of these for damaged, encrypted or unknown members
        OSError,
        EOFError,
        TypeError,
        NotImplementedError,
        RuntimeError,
        zlib.error,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(str(error)) from None
    return arrays


def _bytewise(member: bytes) -> NDArray[np.uint8]:
    """Return the bytes of a member, ``[bytes, *shape]``, in the one form that `packed` writes.

    NumPy's reader would parse the header as a Python literal, which takes longer than reading the
    data.

    Raises:
        ValueError: it has another form, or not as many bytes as it says.
    """
    head = _HEAD.match(member)
    if head is None:
        raise ValueError("no array of bytes")
    shape = tuple(int(extent) for extent in head[1].split(b",") if extent.strip())
    return np.frombuffer(member, np.uint8, offset=head.end()).reshape(shape)


def _planes(values: Any) -> Any:
    """Return the bytes of an array, ``[bytes of a number, *shape]``: one plane per significance."""
    values = np.ascontiguousarray(values)
    bytes_of_each = values.view(np.uint8).reshape(*values.shape, values.itemsize)
    return np.ascontiguousarray(np.moveaxis(bytes_of_each, -1, 0))


def _numbers(bytewise: Any, dtype: str) -> Any:
    """Return the array whose bytes `_planes` returned, the reverse of that function.

    Raises:
        ValueError: they are no bytes of numbers of that type.
    """
    number_type = np.dtype(dtype)
    if (
        number_type.kind not in "biuf"  # booleans, integers, floats; no objects, no strings
        or bytewise.dtype != np.uint8
        or bytewise.shape[:1] != (number_type.itemsize,)
    ):
        raise ValueError(f"no bytes of '{dtype}'")
    bytes_of_each = np.empty((*bytewise.shape[1:], number_type.itemsize), np.uint8)
    for i, plane in enumerate(bytewise):
        bytes_of_each[..., i] = plane
    return bytes_of_each.view(number_type).reshape(bytewise.shape[1:])
