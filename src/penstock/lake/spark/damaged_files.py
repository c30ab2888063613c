"""Whether an error of Spark says that a file of a table is gone, cut or overwritten.

In: an exception from PySpark or py4j. Out: `DamagedFiles`, or None. Invariant: none for an error that passes by itself,
such as storage that does not answer or a disk without room; nobody is told to put back a file that is whole.
"""

from __future__ import annotations

import re

from penstock.errors import Failed
from penstock.lake.spark.names import NAMESPACE
from penstock.lake.spark.row_errors import is_row_error, java_causes

_SEPARATORS = re.compile(r"[\s'\"\[(,;\])]")
"""What stands between the words of a message."""
_GONE = ("iceberg.exceptions.NotFoundException", "java.io.FileNotFoundException")
_CUT = ("java.io.EOFException",)
_DAMAGED = (
    "avro.AvroRuntimeException",
    "avro.InvalidAvroMagicException",
    "hadoop.fs.ChecksumException",
    "parquet.io.ParquetDecodingException",
    "zstd.ZstdException",
    "zstd.ZstdIOException",
)
"""The ends of class names: Iceberg brings Avro and Parquet under names of its own."""
_TEXTS = ("is not a Parquet file", "Not an Avro data file", "Not a data file", "Invalid sync!")
"""What Avro and Parquet say in exceptions of general classes."""


class DamagedFiles(Failed):
    """A file that a table refers to is gone or damaged."""

    code = "damaged-table"


def damaged_files(error: BaseException) -> DamagedFiles | None:
    """The error for the caller, if a file of a table is the cause."""
    causes = list(java_causes(error))
    if is_row_error(error):
        return None  # it may quote any text
    named = _named_file(" ".join(message for _, message in causes))
    gone = named is not None and any(name.endswith(_GONE) for name, _ in causes)
    damaged = any(
        name.endswith(_DAMAGED)
        or any(text in message for text in _TEXTS)
        or (named is not None and name.endswith(_CUT))
        for name, message in causes
    )
    if not gone and not damaged:
        return None
    table = f"the table {named[0]}" if named is not None else "a table that is read"
    file = f": {named[1].rstrip('.:')} is {'missing' if gone else 'damaged'}" if named is not None else ""
    return DamagedFiles(
        f"a file of {table} is gone or damaged{file}",
        hint="only this table and those fed from it stop: put the file back from a backup, or deploy the data source"
        " under another name, or without it",
    )


def _named_file(text: str) -> tuple[str, str] | None:
    """The table and the path of the first file of a table in a text."""
    for word in _SEPARATORS.split(text):
        _, found, inside = word.rpartition(f"/{NAMESPACE}/")
        table, _, file = inside.partition("/")
        if found and table and file.startswith(("data/", "metadata/")):
            return table, word
    return None
