"""Content that is packed by Zstandard, read to its end.

In: a packed file. Out: what is in it, as a file. Invariant: content that was cut off raises EOFError. The library
itself gives what came before the cut, and then an end like any other, so rows would be missing in silence.
"""

from __future__ import annotations

from typing import BinaryIO, cast

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
"""What a frame begins with. Source of all layouts: RFC 8878."""
_SKIPPABLE = b"\x2a\x4d\x18"
"""The second to fourth byte of a frame that decompressors pass over; the first one is 0x50 to 0x5f."""
_BLOCK_HEADER, _SKIPPABLE_HEADER, _LONGEST_HEADER = 3, 8, 18
_SINGLE_BYTE_BLOCK = 1


def open_zstd(packed: BinaryIO, max_window_size: int = 0) -> BinaryIO:
    """What is in the frames of a file. Reading raises EOFError where the file ends within a frame, and ZstdError for
    what is no frame, or for one that asks for a window larger than the limit (0: the library's)."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=max_window_size)
    whole = cast(BinaryIO, _WholeFrames(packed))
    return cast(BinaryIO, unpacker.stream_reader(whole, read_across_frames=True))


class _WholeFrames:
    """A packed file that knows whether it ends behind a frame. It follows the headers of frames and blocks."""

    def __init__(self, packed: BinaryIO):
        self._packed = packed
        self._header = b""
        self._skipped = 0
        """So many bytes follow that are no header."""
        self._in_frame = False
        self._checksum = 0

    def read(self, size: int = -1) -> bytes:
        data = self._packed.read(size)
        if not data and size and (self._in_frame or self._skipped or self._header):
            raise EOFError("compressed file ended before the end of a frame")
        self._follow(data)
        return data

    def _follow(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            passed = min(self._skipped, len(data) - at)
            self._skipped -= passed
            at += passed
            if at < len(data):
                known = len(self._header)
                self._header += data[at : at + _LONGEST_HEADER - known]
                taken = self._block() if self._in_frame else self._frame()
                if taken == 0:
                    return  # the rest of the header comes later
                at += taken - known
                self._header = b""

    def _frame(self) -> int:
        """The bytes of the header of a frame, after which its blocks come; 0 if not all of it is there."""
        if self._header[1:4] == _SKIPPABLE and self._header[0] & 0xF0 == 0x50:
            if len(self._header) < _SKIPPABLE_HEADER:
                return 0
            self._skipped = int.from_bytes(self._header[4:8], "little")
            return _SKIPPABLE_HEADER
        if len(self._header) <= len(MAGIC):
            return 0
        size = zstandard.frame_header_size(self._header)
        if len(self._header) < size:
            return 0
        self._in_frame = True
        self._checksum = 4 if zstandard.get_frame_parameters(self._header).has_checksum else 0
        return size

    def _block(self) -> int:
        """The bytes of the header of a block; 0 if not all of it is there."""
        if len(self._header) < _BLOCK_HEADER:
            return 0
        header = int.from_bytes(self._header[:_BLOCK_HEADER], "little")
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        self._skipped = 1 if kind == _SINGLE_BYTE_BLOCK else size
        if is_last:
            self._skipped += self._checksum
            self._in_frame = False
        return _BLOCK_HEADER
