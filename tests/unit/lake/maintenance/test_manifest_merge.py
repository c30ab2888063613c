"""Which manifests are merged: over a long stream they stay few, and none is written anew often."""

from __future__ import annotations

import math
import random

import pytest
from pyiceberg.manifest import ManifestContent, ManifestFile

from penstock.lake.maintenance.manifest_merge import FEWEST, SMALL_BYTES, manifests_to_merge

OF_ONE_COMMIT = 7_000


def manifest(number: int, size: int, content: ManifestContent = ManifestContent.DATA) -> ManifestFile:
    return ManifestFile.from_args(
        manifest_path=f"file:/m{number}.avro",
        manifest_length=size,
        partition_spec_id=0,
        content=content,
        sequence_number=number,
    )


def test_few_manifests_stay() -> None:
    assert manifests_to_merge([manifest(number, OF_ONE_COMMIT) for number in range(FEWEST - 1)]) == []


def test_many_small_ones_are_merged_and_no_large_one_nor_one_of_deletes() -> None:
    small = [manifest(number, OF_ONE_COMMIT + number) for number in range(FEWEST)]
    others = [manifest(100, SMALL_BYTES), manifest(101, OF_ONE_COMMIT, ManifestContent.DELETES)]
    assert manifests_to_merge([*reversed(small), *others]) == small


def test_one_that_outweighs_the_others_waits_until_they_are_as_large() -> None:
    small = [manifest(number, OF_ONE_COMMIT) for number in range(FEWEST)]
    heavy = manifest(50, OF_ONE_COMMIT * FEWEST + 1)
    assert manifests_to_merge([heavy, *small]) == small
    assert manifests_to_merge([manifest(50, OF_ONE_COMMIT * FEWEST), *small])[-1].manifest_path == "file:/m50.avro"


@pytest.mark.parametrize("seed", range(5))
def test_over_a_long_stream_manifests_stay_few_and_each_entry_is_written_few_times(seed: int) -> None:
    chance, sizes, written = random.Random(seed), list[int](), 0
    commits = 4_000
    for _ in range(commits):
        sizes.append(OF_ONE_COMMIT + chance.randrange(200))
        if chance.random() < 1 / chance.choice((1, 5, 40)):
            chosen = manifests_to_merge([manifest(at, size) for at, size in enumerate(sizes)])
            merged = sum(each.manifest_length for each in chosen)
            kept = set(range(len(sizes))) - {each.sequence_number for each in chosen}
            sizes = [sizes[at] for at in sorted(kept)] + ([merged] if chosen else [])
            written += merged
            in_tiers = math.log2(commits) + commits * OF_ONE_COMMIT / (SMALL_BYTES / 2)
            assert len(sizes) < FEWEST + in_tiers
    assert written / (commits * OF_ONE_COMMIT) < 2 * math.log2(SMALL_BYTES / OF_ONE_COMMIT)
