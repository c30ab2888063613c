"""Packed files as streams of what is in them.

In: a file, and how it is packed. Out: its bytes in parts. Invariant: a packed file that is cut off or damaged raises
OSError, EOFError, LZMAError or what Arrow raises for it; it never just ends.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from penstock.model.external_tables import Packing

PART_BYTES = 2**20
PACKING_ERRORS = (OSError, EOFError, lzma.LZMAError, pa.ArrowException)
_ENDINGS: dict[str, Packing] = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bz2", "lz4": "lz4"}


def packing_of(given: Packing, path: str, encoding: str) -> Packing:
    """How a file is packed: as the call says, else the header Content-Encoding, else the end of its name."""
    if given != "auto":
        return given
    by_header = {"x-gzip": "gzip"}.get(encoding.lower(), encoding.lower())
    if by_header in ("gzip", "zstd"):
        return "gzip" if by_header == "gzip" else "zstd"
    return _ENDINGS.get(path.lower().rpartition(".")[2], "none")


def unpacked_parts(path: Path, packing: Packing) -> Iterator[bytes]:
    """The bytes that are in a file. Raises one of PACKING_ERRORS."""
    if packing == "xz":
        with lzma.open(path) as stream:
            while part := stream.read(PART_BYTES):
                yield part
        return
    with pa.OSFile(str(path)) as file:
        if packing == "none" or file.size() == 0:
            while part := file.read(PART_BYTES):
                yield part
            return
        with pa.CompressedInputStream(file, packing) as stream:
            while part := stream.read(PART_BYTES):
                yield part
