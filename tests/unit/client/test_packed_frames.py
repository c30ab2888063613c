"""What Zstandard packed is read whole, or the reading says that it was cut off."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.rows.packed_frames import open_zstd

CONTENT = b"\n".join(b"%d" % (number * 7919 % 100_003) for number in range(60_000)) + b"a" * 400_000


def _in_parts(content: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    start = packer.compress(content[:1000]) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    return start + packer.compress(content[1000:]) + packer.flush()


PACKED = {
    "sized": zstandard.compress(CONTENT),
    "checksum": zstandard.ZstdCompressor(level=19, write_checksum=True).compress(CONTENT),
    "no size": zstandard.ZstdCompressor(write_content_size=False).compress(CONTENT),
    "in parts": _in_parts(CONTENT),
}
SKIPPED = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"hello"


class _Dribbling(io.BytesIO):
    """A file that gives a few bytes at a time."""

    most = 7

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size, self.most) if size and size > 0 else self.most)


@pytest.mark.parametrize("packed", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("open_file", [io.BytesIO, _Dribbling])
def test_whole_content_is_read(open_file: Callable[[bytes], io.BytesIO], packed: bytes) -> None:
    assert open_zstd(open_file(packed)).read() == CONTENT
    several = zstandard.compress(b"") + SKIPPED + packed + SKIPPED + zstandard.compress(b"end")
    assert open_zstd(open_file(several)).read() == CONTENT + b"end"


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(PACKED)), st.integers(1, min(map(len, PACKED.values())) - 1), st.booleans())
def test_content_that_is_cut_off_is_no_content(name: str, cut: int, is_second: bool) -> None:
    packed = (PACKED["sized"] + SKIPPED if is_second else b"") + PACKED[name][:-cut]
    with pytest.raises((EOFError, zstandard.ZstdError)):
        open_zstd(io.BytesIO(packed)).read()


@pytest.mark.parametrize("end", [b"x", b"garbage that is no frame", SKIPPED[:-1], PACKED["sized"][:3]])
def test_what_follows_a_frame_is_a_frame(end: bytes) -> None:
    with pytest.raises((EOFError, zstandard.ZstdError)):
        open_zstd(io.BytesIO(PACKED["sized"] + end)).read()


def test_a_window_over_the_limit_is_refused() -> None:
    packed = zstandard.ZstdCompressor(level=22, write_content_size=False).compress(CONTENT)
    with pytest.raises(zstandard.ZstdError):
        open_zstd(io.BytesIO(packed), 2**16).read()
