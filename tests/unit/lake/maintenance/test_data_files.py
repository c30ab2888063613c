"""Which small files become one."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lake.maintenance.data_files import CompactionLimits, DataFile, compaction_runs
from penstock.lake.maintenance.orphan_files import normalize_path
from penstock.lake.maintenance.shared_files import TableFiles, restorable_properties

TIERS = CompactionLimits(files=4, small=1_000, target=3_000)


def file(seq: int, size: int, partition: str = "") -> DataFile:
    return DataFile(f"f{seq}{partition}", 0, partition, size, size, seq, seq, seq)


def test_few_or_large_files_are_left_alone() -> None:
    assert list(compaction_runs([file(each, 10) for each in range(3)], TIERS)) == []
    assert list(compaction_runs([file(each, 1_000) for each in range(9)], TIERS)) == []


def test_one_large_file_parts_its_neighbours() -> None:
    files = [file(each, 2_000 if each == 4 else 10) for each in range(9)]
    assert [[each.low for each in run] for run in compaction_runs(files, TIERS)] == [[0, 1, 2, 3], [5, 6, 7, 8]]


def test_what_was_made_of_many_is_not_made_again_for_a_few() -> None:
    files = [file(0, 900), *(file(each, 10) for each in range(1, 6))]
    assert [[each.low for each in run] for run in compaction_runs(files, TIERS)] == [[1, 2, 3, 4, 5]]


def test_partitions_are_apart() -> None:
    files = [file(each, 10, "ab"[each % 2]) for each in range(8)]
    assert [{each.partition for each in run} for run in compaction_runs(files, TIERS)] == [{"a"}, {"b"}]


@settings(max_examples=200)
@given(st.lists(st.integers(1, 1_500), max_size=60))
def test_runs_are_adjacent_and_no_file_is_in_two(sizes: list[int]) -> None:
    files = [file(each, size) for each, size in enumerate(sizes)]
    found = list(compaction_runs(files, TIERS))
    taken = [each.low for run in found for each in run]
    assert taken == sorted(set(taken))
    for run in found:
        assert [each.low for each in run] == list(range(run[0].low, run[-1].low + 1))
        assert len(run) > 1
        assert sum(each.bytes for each in run) <= TIERS.target


def test_a_stream_of_commits_ends_in_few_files_and_each_row_is_rewritten_a_few_times() -> None:
    files: list[DataFile] = []
    written, tiers = 0, CompactionLimits(8, 10**9, 10**9)
    for number in range(2_000):
        files.append(file(number, 10))
        for run in compaction_runs(files, tiers):
            made = DataFile("m", 0, "", 0, sum(each.bytes for each in run), 0, run[0].low, run[-1].high)
            written += made.bytes
            files = [each for each in files if each not in run] + [made]
    assert len(files) <= 4 * 16
    assert written <= 2_000 * 10 * 5


def test_paths_are_compared_as_one_writes_them() -> None:
    for same in itertools.permutations(("file:/a/b", "file:///a/b", "/a/b"), 2):
        assert normalize_path(same[0]) == normalize_path(same[1])
    assert normalize_path("s3a://bucket/a") == normalize_path("s3://bucket/a") != normalize_path("s3://other/a")


def test_who_may_delete_files_again() -> None:
    shared = TableFiles("at", "m9", frozenset({"m8"}), collects=False, trims=False)
    metadata = {"write.metadata.delete-after-commit.enabled": "true"}
    assert restorable_properties("t", {"t": shared}) == {"gc.enabled": "true", **metadata}
    there = TableFiles("at", "m8", frozenset(), collects=False, trims=False)
    assert restorable_properties("t", {"t": shared, "clone": there}) == {}, "the clone is still that metadata file"
    moved = TableFiles("at", "c1", frozenset({"m8"}), collects=False, trims=False)
    assert restorable_properties("t", {"t": shared, "clone": moved}) == metadata
    assert (
        restorable_properties("t", {"t": shared, "other": TableFiles("elsewhere", "x", frozenset(), True, True)})[
            "gc.enabled"
        ]
        == "true"
    )
