"""Content that is packed by Zstandard, read to its end.

In: a packed file. Out: what is in it, as a file. Invariant: content that was cut off raises EOFError. A stream reader
of the library gives what came before the cut, and then an end like any other, so rows would be missing in silence.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC = b"\x28\xb5\x2f\xfd"
"""What a frame begins with. Source: RFC 8878."""
_PIECE = 2**8
"""Bytes that are unpacked at once: at the most 8 MiB, since a block of 4 bytes can hold 128 KiB."""


def open_zstd(packed: BinaryIO, max_window_size: int = 0) -> BinaryIO:
    """What is in the frames of a file. Reading raises EOFError where the file ends within a frame, and ZstdError for
    what is no frame, or for one that asks for a window larger than the limit (0: the library's)."""
    return cast(BinaryIO, io.BufferedReader(_Frames(packed, max_window_size)))


class _Frames(io.RawIOBase):
    """The content of frames, one after the other. Those that are to be passed over have none."""

    def __init__(self, packed: BinaryIO, max_window_size: int):
        self._packed, self._max_window_size = packed, max_window_size
        self._frame = self._next_frame()
        self._is_between = True
        self._content = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        while not self._content:
            piece = self._frame.unused_data or self._packed.read(_PIECE)
            if not piece and self._is_between:
                return 0
            if not piece:
                raise EOFError("compressed file ended before the end of a frame")
            if self._frame.eof:
                self._frame = self._next_frame()
            self._content = memoryview(self._frame.decompress(piece))
            self._is_between = self._frame.eof
        target = memoryview(into)
        size = min(len(target), len(self._content))
        target[:size] = self._content[:size]
        self._content = self._content[size:]
        return size

    def _next_frame(self) -> zstandard.ZstdDecompressionObj:
        return zstandard.ZstdDecompressor(max_window_size=self._max_window_size).decompressobj()
