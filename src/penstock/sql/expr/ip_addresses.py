"""IP addresses: which texts ClickHouse reads as an address, and how it writes one.

In: SQL of texts, of numbers (IPv4) or of 32 hexadecimal digits (IPv6). Out: SQL. Invariant: an address has one text
form, the one that ClickHouse writes, so equal addresses are equal texts; a text that is no address gives NULL.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address

from penstock.sql.expr.bind_once import bind_once
from penstock.sql.spark_text import string_literal

_BYTE = "(?![0-9]{5})0{0,3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_BYTE}(?:[.]{_BYTE}){{3}}"
_GROUP = "[0-9a-f]{1,4}"
_GROUPS = f"{_GROUP}(?::{_GROUP})*"
IPV4_PATTERN = string_literal(rf"^{_IPV4}\z")
"""Pattern for RLIKE, as a SQL literal; leading zeros are allowed, as in ClickHouse's toIPv4."""
STRICT_IPV4_PATTERN = string_literal(rf"^(?!.*(?<![0-9])0[0-9]){_IPV4}\z")
"""The same without leading zeros, as in an accurate conversion."""
_MAPPED = string_literal(rf"^(?!0[0-9]){_IPV4}\z")
_ENDS_IN_IPV4 = string_literal(rf"^[0-9a-f:]*:{_IPV4}\z")
_FULL_IPV6 = string_literal(rf"^{_GROUP}(?::{_GROUP}){{7}}\z")
_SHORTENED_IPV6 = string_literal(rf"^(?:{_GROUPS})?::(?:{_GROUPS})?\z")
_TRIPLE_COLON = string_literal(r"(?<=[0-9a-f]):::(?=[0-9a-f])")
_OUTER_COLON = string_literal(r"^:(?!:)|(?<!:):$")
IPV6_DIGITS = 32
"""Hexadecimal digits of an IPv6 address."""


def ipv4_number(text: str) -> str:
    """The address as a BIGINT, for a text that is an IPv4 address."""
    parts = f"transform(split({text}, '[.]'), ` p` -> try_cast(` p` AS BIGINT))"
    return f"aggregate({parts}, 0L, (` a`, ` e`) -> ` a` * 256L + ` e`)"


def ipv4_text(number: str) -> str:
    """The text of an IPv4 address given as a BIGINT from 0 to 2^32 - 1."""
    parts = (f"CAST(shiftright(` n`, {shift}) & 255L AS STRING)" for shift in (24, 16, 8, 0))
    shown = f"concat_ws('.', {', '.join(parts)})"
    return bind_once(number, "` n`", f"if(` n` IS NULL, NULL, {shown})")


def ipv6_digits(text: str) -> str:
    """The 32 hexadecimal digits of a text that is an IPv6 or IPv4 address; NULL for any other text."""
    known = f"CASE WHEN ` i` RLIKE {_MAPPED} THEN concat('::ffff:', ` i`) ELSE ` i` END"
    last = "substring_index(` j`, ':', -1)"
    low, start = f"lpad(lower(hex({ipv4_number(last)})), 8, '0')", f"substring(` j`, 1, length(` j`) - length({last}))"
    tail = bind_once(low, "` t`", f"concat({start}, substring(` t`, 1, 4), ':', substring(` t`, 5, 4))")
    groups = f"regexp_replace(if(` j` RLIKE {_ENDS_IN_IPV4}, {tail}, ` j`), {_TRIPLE_COLON}, '::')"
    return bind_once(bind_once(bind_once(f"lower({text})", "` i`", known), "` j`", groups), "` k`", _digits_of_groups())


def _digits_of_groups() -> str:
    start, every = _pad_groups("substring_index(` k`, '::', 1)"), _pad_groups("` k`")
    missing = f"repeat('0', {IPV6_DIGITS} - length(` w`))"
    fits = f"length(` w`) < {IPV6_DIGITS} OR (length(` w`) = {IPV6_DIGITS} AND ` k` NOT LIKE '%::')"
    filled = f"if({fits}, concat({start}, {missing}, substring(` w`, length({start}) + 1)), NULL)"
    shortened = bind_once(every, "` w`", filled)
    return f"CASE WHEN ` k` RLIKE {_FULL_IPV6} THEN {every} WHEN ` k` RLIKE {_SHORTENED_IPV6} THEN {shortened} END"


def _pad_groups(groups: str) -> str:
    """The groups between colons with leading zeros, joined."""
    return f"array_join(transform(split({groups}, ':'), ` g` -> if(` g` = '', '', lpad(` g`, 4, '0'))), '')"


def ipv6_text(digits: str) -> str:
    """The text of 32 digits: the longest run of zero groups becomes `::`, and the last 32 bits are written as IPv4
    in addresses of the IPv4-mapped and IPv4-compatible ranges."""
    end = ", ".join(f"conv(substring(` d`, {place}, 2), 16, 10)" for place in (25, 27, 29, 31))
    dotted = f"concat_ws('.', {end})"
    every = "transform(sequence(1, 29, 4), ` p` -> lower(conv(substring(` d`, ` p`, 4), 16, 16)))"
    zeros = "concat(repeat(':0', ` n`), ':')"
    left_out = f"concat(substring_index(` a`, {zeros}, 1), '::', substring(` a`, instr(` a`, {zeros}) + 2 * ` n` + 1))"
    step = f"if(contains(` a`, '::') OR NOT contains(` a`, {zeros}), ` a`, {left_out})"
    short = f"aggregate(sequence(8, 2), concat(':', array_join({every}, ':'), ':'), (` a`, ` n`) -> {step})"
    shown = (
        f"CASE WHEN ` d` IS NULL THEN NULL WHEN ` d` LIKE '{'0' * 20}ffff%' THEN concat('::ffff:', {dotted}) "
        f"WHEN ` d` LIKE '{'0' * 24}%' AND ` d` NOT LIKE '{'0' * 28}%' THEN concat('::', {dotted}) "
        f"ELSE regexp_replace({short}, {_OUTER_COLON}, '') END"
    )
    return bind_once(digits, "` d`", shown)


def normalize_ipv4(text: str) -> str:
    """The one text form of an IPv4 literal. Raises ValueError if it is no IPv4 address."""
    if not re.fullmatch(_IPV4, text):
        raise ValueError(text)
    return ".".join(str(int(part)) for part in text.split("."))


def ip_literal_digits(text: str) -> str:
    """The 32 hexadecimal digits of an IPv6 or IPv4 literal. Raises ValueError if it is no address."""
    if ":" not in text:
        text = f"::ffff:{normalize_ipv4(text)}"
    if "%" in text:
        raise ValueError(text)
    return IPv6Address(text).packed.hex()
