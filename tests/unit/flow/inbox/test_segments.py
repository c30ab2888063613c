"""Segments: what is written is read back; what is not any more what was written gives no row."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.flow.inbox import segments as module
from penstock.flow.inbox.segments import (
    DamagedSegment,
    Segment,
    Segments,
    find_damage,
    read_segment,
    remove_segments,
    salvage_lines,
)

LINES = [b'{"a": 1}', b'{"a": "\xff"}', b"x" * 70_000, b'{"a": 4}']


@pytest.fixture
def written(tmp_path: Path) -> Segment:
    return Segments(tmp_path / "inbox").write("s", LINES)


def test_lines_come_back(tmp_path: Path, written: Segment) -> None:
    path = tmp_path / "inbox" / written.name
    assert list(read_segment(path, written.bytes, written.digest)) == LINES
    assert list(read_segment(path, written.bytes, None)) == LINES, "a log of an older version knows no digest"
    assert find_damage(path, written.bytes, written.digest) is None


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)


def make_short(path: Path) -> None:
    os.truncate(path, 20)


def make_long(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"a": 5}\n')


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "bit flip": (flip, "its bytes are not those that were written"),
    "short": (make_short, "it has 20 bytes"),
    "long": (make_long, "the batch log says"),
    "empty": (lambda path: os.truncate(path, 0), "it has 0 bytes"),
    "missing": (Path.unlink, "No such file"),
    "folder": (make_folder, "is not a file"),
    "pipe": (make_pipe, "is not a file"),
    "unreadable": (make_loop, "symbolic links"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_found_and_gives_no_row(tmp_path: Path, written: Segment, kind: str) -> None:
    path = tmp_path / "inbox" / written.name
    damage, message = DAMAGES[kind]
    damage(path)
    found = find_damage(path, written.bytes, written.digest)
    assert found is not None
    assert message in found
    with pytest.raises((DamagedSegment, OSError)):
        list(read_segment(path, written.bytes, written.digest))


@pytest.mark.parametrize(("kind", "lines"), [("short", 2), ("long", 4), ("missing", 1), ("folder", 1), ("pipe", 1)])
def test_what_can_be_read_of_it_is_bounded_by_what_was_written(
    tmp_path: Path, written: Segment, kind: str, lines: int
) -> None:
    path = tmp_path / "inbox" / written.name
    DAMAGES[kind][0](path)
    assert len(list(salvage_lines(path, written.bytes))) == lines


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.ESTALE])
def test_what_passes_is_no_damage(
    tmp_path: Path, written: Segment, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.os, "open", fail)
    with pytest.raises(OSError, match=os.strerror(number)):
        find_damage(tmp_path / "inbox" / written.name, written.bytes, written.digest)


def test_a_folder_that_is_not_there_is_no_damage_of_each_file_in_it(tmp_path: Path, written: Segment) -> None:
    (tmp_path / "inbox").rename(tmp_path / "not mounted")
    with pytest.raises(FileNotFoundError):
        find_damage(tmp_path / "inbox" / written.name, written.bytes, written.digest)


def test_a_folder_takes_so_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARD_FILES", 3)
    segments = Segments(tmp_path / "inbox")
    names = [segments.write("s", LINES).name for _ in range(7)]
    shards = {(tmp_path / "inbox" / name).parent: None for name in names}
    assert [len(list(shard.iterdir())) for shard in shards] == [3, 3, 1]


def test_a_shard_whose_files_were_all_trimmed_is_made_again(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    segments = Segments(inbox)
    remove_segments(inbox, [segments.write("s", LINES).name])
    assert list((inbox / "s").iterdir()) == []
    again = segments.write("s", LINES)
    assert list(read_segment(inbox / again.name, again.bytes, again.digest)) == LINES


def test_a_shard_that_is_gone_is_damage_and_a_stream_that_is_gone_is_not(tmp_path: Path, written: Segment) -> None:
    path = tmp_path / "inbox" / written.name
    shutil.rmtree(path.parent)
    assert find_damage(path, written.bytes, written.digest) is not None
    shutil.rmtree(path.parent.parent)
    with pytest.raises(OSError, match="No such file"):
        find_damage(path, written.bytes, written.digest)
