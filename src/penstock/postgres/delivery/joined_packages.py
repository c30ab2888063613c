"""Joins packages that wait behind each other in a broker, so that a store has one to take instead of many.

In: a package, and the messages behind it. Out: one package with the rows of all that follow it without a gap.
Invariants: rows, order and positions stay as they are; a package of which nobody knows whether the store has it comes
with all its rows again, so that the store can tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.model.cursor import Position
from penstock.postgres.delivery.broker import BrokerMessage
from penstock.postgres.packages.package import PackageRow, RowPackage
from penstock.postgres.packages.package_builder import PackageLimits
from penstock.postgres.packages.package_codec import decode_package


def join_messages(
    first: RowPackage, behind: Iterable[BrokerMessage], unsure: Position | None, limits: PackageLimits
) -> RowPackage:
    """The package with those of the messages behind it that it can be joined with. `unsure` is the end of a package
    that was sent before: what is joined does not end before it. Raises InvalidPackage, and what `behind` raises."""
    rows, upto, size = list[PackageRow](first.rows), first.upto, 0
    for message in behind:
        package = decode_package(message.content)
        size += len(message.content)
        if not isinstance(package, RowPackage) or not _follows(package, first, upto):
            break
        is_needed = unsure is not None and upto < unsure
        if not is_needed and (size > limits.bytes or len(rows) + len(package.rows) > limits.rows):
            break
        rows += package.rows
        upto = package.upto
    return replace(first, rows=tuple(rows), upto=upto)


def _follows(package: RowPackage, first: RowPackage, upto: Position) -> bool:
    same = (package.source, package.store, package.schema) == (first.source, first.store, first.schema)
    return same and package.as_of == first.as_of and package.after == upto
