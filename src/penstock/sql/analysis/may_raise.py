"""Whether compiled Spark SQL may raise an error for some row, and the same SQL with NULL in the place of an error.

In: compiled Spark SQL, and for `suppress_errors` only what `sql.conversions` wrote, whose forms it knows. Out: a
boolean, or SQL. Invariant: a form that is not on the lists of safe ones below counts as one that may raise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.spark_text import QUOTED, closing_parenthesis, is_call, replace_spans, tokenize_spark

_SIGNS = frozenset(["(", ")", ",", "=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "->", "."])
_KEYWORDS = frozenset(["and", "or", "not", "in", "when", "then", "else", "case", "between"])
_BARE = """
is null true false as end l d string binary boolean int bigint float double decimal date timestamp array map struct
variant
"""
_BARE_WORDS = frozenset(_BARE.split())
"""Keywords and types that no parenthesis follows, and the letters of literals such as 1L and 1.5D."""
_SAFE = """
array array_distinct btrim char_length coalesce concat contains csc current_date current_timestamp date_trunc dayofmonth
dayofyear endswith exists filter forall get_json_object greatest hex hour if instr isnan isnotnull isnull last_day
least left length lower ltrim minute month named_struct octet_length penstock_city_hash penstock_city_pair
penstock_document_integer penstock_document_letters penstock_document_numbers penstock_document_text
penstock_document_unsigned penstock_even_fixed_point penstock_farm_fingerprint penstock_farm_hash penstock_farm_pair
penstock_fine_time penstock_fixed_date penstock_fixed_date32 penstock_fixed_fine_time penstock_fixed_time
penstock_fixed_time64 penstock_float_text penstock_gcc_murmur penstock_half_md5 penstock_initials penstock_int_hash
penstock_int_hash_32 penstock_is_far_time penstock_json penstock_json_kinds penstock_json_object penstock_json_objects
penstock_json_text penstock_json_typed penstock_json_value penstock_json_values penstock_kafka_murmur
penstock_lacks_year penstock_lower penstock_murmur2 penstock_murmur2_32 penstock_murmur3 penstock_murmur3_128
penstock_murmur3_32 penstock_netloc penstock_pair penstock_sip_hash penstock_sip_hash_128 penstock_site
penstock_source_json penstock_time penstock_time64 penstock_unbin penstock_unhex penstock_unsigned penstock_upper
penstock_valid_utf8 penstock_xx_hash penstock_xx_hash_32 quarter rand replace reverse right rtrim second size
startswith struct substring transform translate trim try_add try_cast try_divide try_element_at try_mod try_multiply
try_parse_json try_subtract try_to_timestamp try_variant_get unix_date unix_micros unix_seconds upper uuid weekday
year
"""
SAFE_FUNCTIONS = frozenset(_SAFE.split())
"""Functions that give a value for whatever they are given, of the kinds that the compiler gives them."""


def may_raise(sql: str) -> bool:
    """Whether compiled Spark SQL may raise an error for some row; true of any form that is not known to be safe."""
    try:
        tokens = tokenize_spark(sql)
        return not all(_is_safe(tokens, place) for place in range(len(tokens)))
    except (SqlglotError, IndexError):
        return True


def suppress_errors(sql: str) -> str:
    """The SQL of a conversion with NULL where it would raise an error."""
    tokens = tokenize_spark(sql)
    spans: list[tuple[int, int, str]] = []
    done = 0
    for place, token in enumerate(tokens[:-1]):
        if token.start < done or not is_call(tokens, place):
            continue
        last = tokens[closing_parenthesis(tokens, place + 1)]
        match token.text.lower():
            case "cast":
                spans.append((token.start, token.end + 1, "try_cast"))
            case "raise_error":
                spans.append((token.start, last.end + 1, "NULL"))
            case "timestamp_seconds":
                inside = suppress_errors(sql[tokens[place + 1].end + 1 : last.start])
                micros = f"try_cast(try_multiply({inside}, 1000000L) AS BIGINT)"
                spans.append((token.start, last.end + 1, f"timestamp_micros({micros})"))
            case _:
                continue
        done = spans[-1][1]
    return replace_spans(sql, spans)


def drop_errors(sql: str) -> str:
    """The SQL of a conversion without the errors in it, and without the conditions under which it raises them: for rows
    that are known not to get there. It gives the same values for these."""
    tokens = tokenize_spark(sql)
    spans: list[tuple[int, int, str]] = []
    done = 0
    for place, token in enumerate(tokens[:-1]):
        if token.start < done or not is_call(tokens, place) or token.text.lower() not in ("if", "coalesce"):
            continue
        last = tokens[closing_parenthesis(tokens, place + 1)]
        given = _arguments(sql, tokens, place + 1)
        kept = [each for each in given if not _raises_only(each)]
        is_if = token.text.lower() == "if"
        if len(kept) == len(given) or not kept or (is_if and (len(kept) != 2 or kept[0] != given[0])):
            continue
        value = f"({drop_errors(kept[-1])})" if is_if else f"coalesce({', '.join(map(drop_errors, kept))})"
        spans.append((token.start, last.end + 1, value))
        done = spans[-1][1]
    return replace_spans(sql, spans)


def _arguments(sql: str, tokens: Sequence[Token], opened: int) -> list[str]:
    """The arguments of a call as text; `opened` is its parenthesis."""
    closed, depth = closing_parenthesis(tokens, opened), 0
    cuts = [tokens[opened].end]
    for token in tokens[opened + 1 : closed]:
        depth += token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET)
        depth -= token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)
        cuts += [token.start] if depth == 0 and token.token_type == TokenType.COMMA else []
    ends = [*cuts[1:], tokens[closed].start]
    return [sql[start + 1 : end].strip() for start, end in zip(cuts, ends, strict=True)]


def _raises_only(sql: str) -> bool:
    """Whether the SQL is a call of raise_error and nothing else."""
    tokens = tokenize_spark(sql)
    is_error = bool(tokens) and is_call(tokens, 0) and tokens[0].text.lower() == "raise_error"
    return is_error and closing_parenthesis(tokens, 1) == len(tokens) - 1


def _is_safe(tokens: Sequence[Token], place: int) -> bool:
    token, before = tokens[place], tokens[place - 1] if place else None
    text = token.text.lower()
    if token.token_type in (*QUOTED, TokenType.NUMBER) or text in _SIGNS:
        return True
    if token.token_type in (TokenType.DCOLON, TokenType.DASH):
        return _is_literal(tokens, place, before)
    if text in ("rlike", "like", "ilike"):
        return _is_pattern(text, tokens[place + 1])
    if not is_call(tokens, place) or text in _KEYWORDS or text in SAFE_FUNCTIONS:
        return token.token_type == TokenType.VAR or text in _KEYWORDS or text in SAFE_FUNCTIONS or text in _BARE_WORDS
    if text == "double":
        given = tokens[place + 2]
        return given.token_type == TokenType.STRING and given.text in ("Infinity", "-Infinity", "NaN")
    return _is_safe_cast(tokens, place) if text == "cast" else _is_type(tokens, place)


def _is_literal(tokens: Sequence[Token], place: int, before: Token | None) -> bool:
    """`1L`, which is read as 1::L, and a sign that belongs to a number."""
    if tokens[place].token_type == TokenType.DCOLON:
        return before is not None and before.start == tokens[place].start
    starts = before is None or before.token_type not in QUOTED
    starts = starts and (before is None or before.text.lower() in _KEYWORDS or (before.text in _SIGNS - {")", "."}))
    return starts and tokens[place + 1].token_type == TokenType.NUMBER


def _is_pattern(word: str, token: Token) -> bool:
    """A literal that Java reads as Python does. A repeated group may take all of the stack."""
    if token.token_type != TokenType.STRING or word != "rlike":
        return token.token_type == TokenType.STRING and "\\" not in token.text
    strange = (
        r"\)[*+{]|\[\^?[\]\[]|\[[^\]]*\[|&&|\\[A-Za-ce-rt-vx-z0]|\(\?(?![si]?:|s\))|\{(?![0-9]+(,[0-9]*)?\})|[*+?}]\+"
    )
    pattern = token.text.replace(r"\z", "$")
    if re.search(strange, pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is_safe_cast(tokens: Sequence[Token], place: int) -> bool:
    """To a text; of a literal that the type holds."""
    inside = tokens[place + 2 : closing_parenthesis(tokens, place + 1)]
    splits = [at for at, each in enumerate(inside) if each.token_type == TokenType.ALIAS]
    if not splits:
        return False
    value, to = inside[: splits[-1]], "".join(each.text.upper() for each in inside[splits[-1] + 1 :])
    if len(value) != 1 or value[0].token_type not in (TokenType.NUMBER, TokenType.NULL):
        return to in ("STRING", "BINARY") or [each.text.upper() for each in value] == ["ARRAY", "(", ")"]
    wide = (len(value[0].text) <= 9 and to in ("INT", "BIGINT", "FLOAT", "DOUBLE")) or to == "DECIMAL(20,0)"
    whole = wide and parse_whole_number(value[0].text) is not None
    return to == "STRING" or value[0].token_type == TokenType.NULL or whole or value[0].text == "0"


def _is_type(tokens: Sequence[Token], place: int) -> bool:
    """The DECIMAL(p, s) of a cast."""
    return tokens[place].text.lower() == "decimal" and tokens[place - 1].text.lower() == "as"
