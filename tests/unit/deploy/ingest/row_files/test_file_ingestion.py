"""A file is stored in parts under keys of its own, which are the same when it is sent again."""

from __future__ import annotations

import pytest

from penstock.deploy.ingest.event_ingestion import Receipt
from penstock.deploy.ingest.row_files import file_ingestion as module
from penstock.deploy.ingest.row_files.csv_rows import CsvForm
from penstock.deploy.ingest.row_files.file_ingestion import FileIngestion
from penstock.errors import InvalidRequest, Overloaded, TooLarge
from penstock.model.manifest import Landing
from unit.deploy.ingest.row_files.landings import landing_of

CONTENT = b"id\n" + b"".join(b"%d\n" % number for number in range(25)) + b"x\n"


class Stored:
    """Ingestion that keeps each key once, and refuses one part."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.replaced: list[bytes] = []
        self.refuses = ""

    def landings_of(self, name: str) -> tuple[Landing]:
        return (landing_of("`id` UInt8"),)

    def append(self, name: str, body: bytes, key: str) -> Receipt:
        if key == self.refuses:
            raise Overloaded("too much at once")
        assert self.kept.setdefault(key, body) == body
        bad = body.count(b'"x"')
        return Receipt(name, len(self.kept), len(body.splitlines()) - bad, bad)

    def replace(self, name: str, body: bytes, key: str) -> Receipt:
        self.replaced = body.splitlines()
        return Receipt(name, 1, len(self.replaced), 0)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    monkeypatch.setattr(module, "PART_ROWS", 10)
    return Stored()


def test_a_file_that_broke_off_is_stored_once(stored: Stored) -> None:
    files = FileIngestion(stored, stored)  # type: ignore[arg-type]
    stored.refuses = "k part 2"
    with pytest.raises(Overloaded):
        files.append("x", CONTENT, CsvForm(), "k")
    stored.refuses = ""
    for _ in range(2):
        receipt = files.append("x", CONTENT, CsvForm(), "k")
        assert (receipt.successful_rows, receipt.quarantined_rows, receipt.batch) == (25, 1, 3)
    assert [len(body.splitlines()) for body in stored.kept.values()] == [10, 10, 6]


def test_a_replacement_is_one(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    files = FileIngestion(stored, stored)  # type: ignore[arg-type]
    assert files.replace("x", CONTENT, CsvForm(), "k").successful_rows == 26
    monkeypatch.setattr(module, "MOST_REPLACED_BYTES", 100)
    with pytest.raises(TooLarge):
        files.replace("x", CONTENT, CsvForm(), "k")


def test_a_file_without_rows(stored: Stored) -> None:
    for take in (FileIngestion(stored, stored).append, FileIngestion(stored, stored).replace):  # type: ignore[arg-type]
        with pytest.raises(InvalidRequest, match="no rows"):
            take("x", b"id\n", CsvForm(), "k")
