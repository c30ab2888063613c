"""Read and write Avro files of Iceberg without changing anything but chosen texts.

In: a path. Out: the records with the header they were written under. Invariant: a record that is read and written again
has the same bytes: logical types are not interpreted, and the schema in the header stays as it was. Source: Apache
Avro 1.11, "Object Container Files".
"""

from __future__ import annotations

import io
import os
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import fastavro
import orjson
import zstandard
from fastavro.types import Schema

from penstock.lake.storage.local_paths import DamagedFile

AvroValue: TypeAlias = "bool | int | float | str | bytes | list[AvroValue] | dict[str, AvroValue] | None"
AvroRecord: TypeAlias = "dict[str, AvroValue]"
MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_HEADER = fastavro.parse_schema({"type": "map", "values": "bytes"})
_NUMBER = fastavro.parse_schema("long")


@dataclass(frozen=True, slots=True)
class AvroFile:
    """The content of an Avro file."""

    header: Mapping[str, bytes]
    """The metadata of its header; the schema and the codec are among it."""
    records: tuple[AvroRecord, ...]


def read_avro(path: Path) -> AvroFile:
    """The records of a file. Raises FileNotFoundError, DamagedFile."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise ValueError("it is no Avro file")
            header = _read_header(file)
            return AvroFile(header, tuple(_read_records(file, header, file.read(SYNC_BYTES))))
    except FileNotFoundError:
        raise
    except Exception as error:  # of any kind: damaged bytes can be anything, also a length or a schema
        raise DamagedFile(f"{path} is damaged: {error or type(error).__name__}") from error


def write_avro(path: Path, content: AvroFile) -> None:
    """Write records under the header they were read with, compressed as Iceberg does unless told otherwise."""
    packed = io.BytesIO()
    plain = _plain_schema(content.header)
    for record in content.records:
        fastavro.schemaless_writer(packed, plain, record)
    compressor = zlib.compressobj(wbits=-15)
    block = compressor.compress(packed.getvalue()) + compressor.flush()
    sync = secrets.token_bytes(SYNC_BYTES)
    with path.open("wb") as file:
        file.write(MAGIC)
        fastavro.schemaless_writer(file, _HEADER, {**content.header, "avro.codec": b"deflate"})
        file.write(sync)
        if content.records:
            fastavro.schemaless_writer(file, _NUMBER, len(content.records))
            fastavro.schemaless_writer(file, _NUMBER, len(block))
            file.write(block + sync)


def _read_header(file: BinaryIO) -> dict[str, bytes]:
    header = fastavro.schemaless_reader(file, _HEADER, None)
    assert isinstance(header, dict), "by its schema"
    return header


def _read_records(file: BinaryIO, header: Mapping[str, bytes], sync: bytes) -> Iterator[AvroRecord]:
    plain, unpack = _plain_schema(header), _UNPACK[header.get("avro.codec", b"null")]
    end = os.fstat(file.fileno()).st_size
    while file.tell() < end:
        count, size = (int(str(fastavro.schemaless_reader(file, _NUMBER, None))) for _ in range(2))
        block = io.BytesIO(unpack(file.read(size)))
        for _ in range(count):
            record = fastavro.schemaless_reader(block, plain, None)
            assert isinstance(record, dict), "Iceberg's files have records"
            yield record
        if file.read(SYNC_BYTES) != sync:
            raise ValueError("a block is not ended by the file's mark")


def _inflate(block: bytes) -> bytes:
    return zlib.decompress(block, wbits=-15)


def _unpack_zstandard(block: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(block)


_UNPACK: Mapping[bytes, Callable[[bytes], bytes]] = {
    b"null": bytes,
    b"deflate": _inflate,
    b"zstandard": _unpack_zstandard,
}


def _plain_schema(header: Mapping[str, bytes]) -> Schema:
    """The schema of the records without logical types."""
    plain = _without_logical_types(orjson.loads(header["avro.schema"]))
    assert isinstance(plain, dict), "Iceberg's files have records"
    return fastavro.parse_schema(plain)


def _without_logical_types(schema: AvroValue) -> AvroValue:
    match schema:
        case dict():
            kept = {name: value for name, value in schema.items() if name not in ("logicalType", "doc")}
            return {name: _without_logical_types(value) for name, value in kept.items()}
        case list():
            return [_without_logical_types(each) for each in schema]
        case _:
            return schema
