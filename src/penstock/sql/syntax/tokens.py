"""ClickHouse SQL as tokens, rewritten where sqlglot's ClickHouse parser would misread or lose something.

In: a text. Out: tokens that parse to a tree in which every function call keeps the name that the user wrote. Each
rewrite is one of `REWRITES`. Invariant: each token that comes from the text keeps its offsets, so that a
problem can be shown at its place.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.parsers.clickhouse import ClickHouseParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.quick_dataclass import dataclass
from penstock.sql.spark_text import Tokens, closing_parenthesis
from penstock.sql.syntax.key_tokens import CLOSING, OPENING, token_like, wrap_choices, wrap_named_keys
from penstock.sql.syntax.matcher_tokens import rewrite_matchers

CALL_MARK = "@"
"""Ends the name of a call, so that sqlglot has no class for it and keeps name and arguments."""

BRACKETS = "brackets"
"""Said in the meta of an IN whose set is written with brackets."""
LAMBDA = "lambda"
"""`WITH x -> e AS f` is read as `WITH lambda(x -> e) AS f`."""
PARAMETERS = "parameters"
"""`quantile(0.5)(x)` is read as `quantile(parameters(0.5), x)`."""

# Words that a parenthesis may follow without a call, and calls whose arguments have a grammar.
_WORDS = """
cast extract trim by columns in exists not and or on as using offset settings ties apply interval interpolate like
ilike union all except is null insert filter window primary_key values
"""
_NO_CALLS = frozenset(_WORDS.split())
_CALLS = frozenset({TokenType.VAR, *ClickHouseParser.FUNC_TOKENS})

SAMPLE_PARTS = 4
"""`SAMPLE a/b OFFSET c/d` is read as `SAMPLE ((a, b, c, d))`: its OFFSET is not that of LIMIT."""


def rewrite_tokens(tokens: Tokens) -> Tokens:
    """The tokens of a text, ready to parse."""
    kinds, words = {each.token_type for each in tokens}, {each.text.lower() for each in tokens}
    for rewrite in REWRITES:
        if kinds >= rewrite.kinds and (rewrite.words is None or words & rewrite.words):
            tokens = rewrite.run(tokens)
    return tokens


def _kind_at(tokens: Tokens, index: int) -> TokenType | None:
    return tokens[index].token_type if 0 <= index < len(tokens) else None


def rewrite_limit_by(tokens: Tokens) -> Tokens:
    """`LIMIT n [OFFSET m] BY a` → `DISTRIBUTE BY n, m, a`: beside a second LIMIT it does not parse."""
    out: Tokens = []
    index = 0
    while index < len(tokens):
        end = _limit_by_end(tokens, index)
        if end is None:
            out.append(tokens[index])
            index += 1
            continue
        out += _distribute_by(tokens[index], tokens[index + 1 : end])
        index = end + 1
    return out


_LIMIT_ENDS = frozenset(
    {TokenType.LIMIT, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SETTINGS, TokenType.SEMICOLON}
    | {TokenType.ORDER_BY, TokenType.FORMAT}
)
"""Tokens that end the numbers of a LIMIT; a closing bracket around it ends them as well."""


def _limit_by_end(tokens: Tokens, index: int) -> int | None:
    """The index of BY, if a LIMIT … BY starts here."""
    if tokens[index].token_type != TokenType.LIMIT:
        return None
    end = index + 1
    while end < len(tokens) and tokens[end].text.lower() != "by":
        if tokens[end].token_type == TokenType.L_PAREN:
            end = closing_parenthesis(tokens, end)
        elif tokens[end].token_type in _LIMIT_ENDS or tokens[end].token_type == TokenType.R_PAREN:
            return None
        end += 1
    return end if index + 1 < end < len(tokens) else None


def _distribute_by(limit: Token, middle: Tokens) -> Tokens:
    """`DISTRIBUTE BY count, offset,` of what stands between LIMIT and BY: `n`, `n OFFSET m` or `m, n`."""
    cut = _separator(middle)
    before, after = (middle, []) if cut is None else (middle[:cut], middle[cut + 1 :])
    if cut is not None and middle[cut].token_type == TokenType.COMMA:
        before, after = after, before
    comma = token_like(limit, TokenType.COMMA, ",")
    start = token_like(limit, TokenType.DISTRIBUTE_BY, "DISTRIBUTE BY")
    return [start, *before, comma, *(after or [token_like(limit, TokenType.NUMBER, "0")]), comma]


def _separator(tokens: Tokens) -> int | None:
    """The index of the comma or OFFSET between two numbers, outside of all brackets."""
    index = 0
    while index < len(tokens):
        if tokens[index].token_type in (TokenType.COMMA, TokenType.OFFSET):
            return index
        index = closing_parenthesis(tokens, index) + 1 if tokens[index].token_type == TokenType.L_PAREN else index + 1
    return None


def rewrite_bare_except(tokens: Tokens) -> Tokens:
    """`* EXCEPT a` → `* EXCEPT (a)`; a text is a pattern, of which `rewrite_matchers` makes a call."""
    out: Tokens = []
    for index, token in enumerate(tokens):
        follows = _kind_at(tokens, index - 1) == TokenType.EXCEPT and _kind_at(tokens, index - 2) == TokenType.STAR
        if follows and token.token_type in (TokenType.VAR, TokenType.IDENTIFIER):
            name = token_like(token, TokenType.IDENTIFIER, token.text)
            out += [token_like(token, TokenType.L_PAREN, "("), name, token_like(token, TokenType.R_PAREN, ")")]
        else:
            out.append(token)
    return out


def mark_calls(tokens: Tokens) -> Tokens:
    """Marks the name of each call; names in a type after `::` or AS stay as they are."""
    out: Tokens = []
    type_end = -1
    kinds = [token.token_type for token in tokens]
    opening = [*(kind == TokenType.L_PAREN for kind in kinds[1:]), False]
    for index, (token, opens) in enumerate(zip(tokens, opening, strict=True)):
        if opens:
            before = kinds[index - 1] if index else None
            if before in (TokenType.DCOLON, TokenType.ALIAS) and token.token_type != TokenType.L_PAREN:
                type_end = closing_parenthesis(tokens, index + 1)
            if index > type_end and _is_call(token, before):
                token = token_like(token, TokenType.VAR, token.text + CALL_MARK)
        out.append(token)
    return out


def _is_call(token: Token, before: TokenType | None) -> bool:
    if token.token_type not in _CALLS or token.text.lower() in _NO_CALLS:
        return False
    replaces = token.text.lower() == "replace" and before in (TokenType.STAR, TokenType.R_PAREN)
    return not replaces


def merge_parameters(tokens: Tokens) -> Tokens:
    """`f(p)(x)` → `f(parameters(p), x)`."""
    out: Tokens = []
    merged: set[int] = set()
    for index, token in enumerate(tokens):
        if index in merged:
            continue
        out.append(token)
        if not token.text.endswith(CALL_MARK) or token.token_type != TokenType.VAR:
            continue
        end = closing_parenthesis(tokens, index + 1)
        if _kind_at(tokens, end + 1) == TokenType.L_PAREN:
            inner = tokens[index + 1 : end + 1]
            comma = [] if _kind_at(tokens, end + 2) == TokenType.R_PAREN else [token_like(token, TokenType.COMMA, ",")]
            name = token_like(token, TokenType.VAR, PARAMETERS + CALL_MARK)
            out += [token_like(token, TokenType.L_PAREN, "("), name, *inner, *comma]
            merged.update(range(index + 1, end + 2))
    return out


def complete_select_list(tokens: Tokens) -> Tokens:
    """Puts SELECT before a select list without one; the added token has the place of the first one."""
    if tokens and tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH):
        return [token_like(tokens[0], TokenType.SELECT, "SELECT"), *tokens]
    return tokens


def rewrite_samples(tokens: Tokens) -> Tokens:
    """`SAMPLE 0.1` → `SAMPLE ((0.1, 1, 0, 1))`."""
    out: Tokens = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        out.append(token)
        index += 1
        if token.token_type != TokenType.TABLE_SAMPLE or _kind_at(tokens, index) != TokenType.NUMBER:
            if token.token_type == TokenType.TABLE_SAMPLE and _kind_at(tokens, index) == TokenType.L_PAREN:
                out.append(token_like(token, TokenType.STRING, ""))  # no ratio: nobody else writes what stands below
            continue
        size, index = _read_ratio(tokens, index)
        offset = [token_like(token, TokenType.NUMBER, each) for each in "01"]
        if _kind_at(tokens, index) == TokenType.OFFSET and _kind_at(tokens, index + 1) == TokenType.NUMBER:
            offset, index = _read_ratio(tokens, index + 1)
        comma = token_like(token, TokenType.COMMA, ",")
        open_, close = (token_like(token, *each) for each in ((TokenType.L_PAREN, "("), (TokenType.R_PAREN, ")")))
        parts = [each for number in (*size, *offset) for each in (comma, number)][1:]
        out += [open_, open_, *parts, close, close]
    return out


def _read_ratio(tokens: Tokens, index: int) -> tuple[Tokens, int]:
    """The numerator and the denominator of the ratio at `index`, and the index after them."""
    number = tokens[index]
    if _kind_at(tokens, index + 1) == TokenType.SLASH and _kind_at(tokens, index + 2) == TokenType.NUMBER:
        return [number, tokens[index + 2]], index + 3
    return [number, token_like(number, TokenType.NUMBER, "1")], index + 1


INTERVAL_WORDS = frozenset(
    word + plural
    for word in ("second", "minute", "hour", "day", "week", "month", "quarter", "year", "millisecond", "microsecond")
    for plural in ("", "s")
)
"""Units of an interval as they are written."""


def rewrite_intervals(tokens: Tokens) -> Tokens:
    """`INTERVAL a + b day` → `INTERVAL (a + b) day`: without parentheses sqlglot reads some expressions as a unit."""
    out: Tokens = []
    closing: set[int] = set()
    for index, token in enumerate(tokens):
        if index in closing:
            out.append(token_like(token, TokenType.R_PAREN, ")"))
        out.append(token)
        unit = _interval_unit(tokens, index) if token.token_type == TokenType.INTERVAL else None
        if unit is not None:
            out.append(token_like(token, TokenType.L_PAREN, "("))
            closing.add(unit)
    return out


def _interval_unit(tokens: Tokens, index: int) -> int | None:
    """The index of the unit of the interval that begins at `index`; None if its number is one token, or has none."""
    first = tokens[index + 1] if index + 1 < len(tokens) else None
    if (
        first is None
        or first.token_type in _INTERVAL_ENDS
        or not (first.text[:1].isalnum() or first.text[:1] in _STARTS)
    ):
        return None  # `interval` is a column here
    if first.token_type == TokenType.STRING and _kind_at(tokens, index + 2) != TokenType.DCOLON:
        return None
    end = index + 1
    while end < len(tokens) and tokens[end].token_type not in _INTERVAL_ENDS:
        if tokens[end].token_type == TokenType.L_PAREN:
            end = closing_parenthesis(tokens, end)
        elif end > index + 1 and tokens[end].text.lower() in INTERVAL_WORDS:
            return end if end > index + 2 else None
        end += 1
    return None


_STARTS = ("(", "-", "_")
"""Besides letters and digits, the first characters of an expression."""
_INTERVAL_ENDS = frozenset(
    {TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.ALIAS, TokenType.FROM, TokenType.WHERE}
    | {TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.AND, TokenType.OR, TokenType.SELECT, TokenType.ON}
    | {TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING, TokenType.LIMIT, TokenType.UNION, TokenType.USING}
    | {TokenType.DESC, TokenType.ASC, TokenType.IN, TokenType.NOT, TokenType.IS, TokenType.BETWEEN, TokenType.LIKE}
    | {TokenType.JOIN, TokenType.LEFT, TokenType.RIGHT, TokenType.INNER, TokenType.FULL, TokenType.CROSS}
    | {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
)
"""Tokens that stand in no number of an interval."""


def free_bare_names(tokens: Tokens) -> Tokens:
    """`current_date` and the like as names: a column or an alias may have them, sqlglot reads only calls."""
    bare = ClickHouseParser.NO_PAREN_FUNCTIONS
    return [token_like(each, TokenType.VAR, each.text) if each.token_type in bare else each for each in tokens]


_BEFORE_EXPRESSIONS = frozenset(
    {TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.EQ}
    | {TokenType.AND, TokenType.OR, TokenType.WHERE, TokenType.PREWHERE, TokenType.HAVING, TokenType.QUALIFY}
    | {TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.ON, TokenType.ARROW, None}
)
"""Tokens behind which IN, AND and OR can only be names of calls."""


def mark_membership_calls(tokens: Tokens) -> Tokens:
    """`in(x, (1, 2))` as a call: after an operand IN is the operator."""
    out: Tokens = []
    for index, token in enumerate(tokens):
        negated = _kind_at(tokens, index - 1) == TokenType.NOT
        before = _kind_at(tokens, index - (2 if negated else 1))
        called = token.token_type == TokenType.IN and _kind_at(tokens, index + 1) == TokenType.L_PAREN
        is_call = called and before in _BEFORE_EXPRESSIONS
        out.append(token_like(token, TokenType.VAR, f"in{CALL_MARK}") if is_call else token)
    return out


def mark_calls_of_one(tokens: Tokens) -> Tokens:
    """`and(x)` and `or(x)` as calls, which are refused; of more arguments sqlglot makes the operator."""
    out: Tokens = []
    for index, token in enumerate(tokens):
        names = token.token_type in (TokenType.AND, TokenType.OR) and _kind_at(tokens, index + 1) == TokenType.L_PAREN
        if names and _kind_at(tokens, index - 1) in (*_BEFORE_EXPRESSIONS, TokenType.NOT):
            given = tokens[index + 2 : closing_parenthesis(tokens, index + 1)]
            if given and _separator(given) is None:
                token = token_like(token, TokenType.VAR, token.text.lower() + CALL_MARK)
        out.append(token)
    return out


def rewrite_cast_sets(tokens: Tokens) -> Tokens:
    """`IN '[1, 2]'::Array(Int8)` → `IN ('[1, 2]'::Array(Int8))`: sqlglot ends the set at its text or bracket."""
    out: Tokens = []
    closing: set[int] = set()
    for index, token in enumerate(tokens):
        end = _cast_set_end(tokens, index) if _kind_at(tokens, index - 1) == TokenType.IN else None
        if end is not None:
            out.append(token_like(token, TokenType.L_PAREN, "("))
            closing.add(end)
        out.append(token)
        if index in closing:
            out.append(token_like(token, TokenType.R_PAREN, ")"))
    return out


def _cast_set_end(tokens: Tokens, index: int) -> int | None:
    """The index of the last token of the type that the text or bracket at `index` is cast to."""
    if _kind_at(tokens, index) not in (TokenType.L_BRACKET, TokenType.STRING):
        return None
    depth, end = int(_kind_at(tokens, index) == TokenType.L_BRACKET), index + 1
    while end < len(tokens) and depth:
        depth += {TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1}.get(tokens[end].token_type, 0)
        end += 1
    if _kind_at(tokens, end) != TokenType.DCOLON or end + 1 >= len(tokens):
        return None
    return closing_parenthesis(tokens, end + 2) if _kind_at(tokens, end + 2) == TokenType.L_PAREN else end + 1


_WITH_MODIFIERS = frozenset({"fill", "totals", "ties", "rollup", "cube", "offset", "ordinality"})
"""Words behind a WITH that begins no list of expressions."""


def name_with_expressions(tokens: Tokens) -> Tokens:
    """`WITH 'all', 2 SELECT` → `WITH 'all' AS __with_1, 2 AS __with_3 SELECT`: an expression without a name is read by
    nothing, and sqlglot wants one."""
    unnamed = {end for index in range(len(tokens)) for end in _unnamed_ends(tokens, index)}
    out: Tokens = []
    for index, token in enumerate(tokens):
        out.append(token)
        if index in unnamed:
            out += [token_like(token, TokenType.ALIAS, "AS"), token_like(token, TokenType.VAR, f"__with_{index}")]
    return out


def _unnamed_ends(tokens: Tokens, index: int) -> list[int]:
    """The last tokens of the expressions without AS in the WITH list that begins at `index`; none where there is no
    such list, or it does not end at a SELECT."""
    if tokens[index].token_type != TokenType.WITH or index + 1 >= len(tokens):
        return []
    if tokens[index + 1].text.lower() in _WITH_MODIFIERS:
        return []
    ends: list[int] = []
    named, depth, end = False, 0, index + 1
    while end < len(tokens) and (depth or tokens[end].token_type != TokenType.SELECT):
        kind = tokens[end].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth < 0:
            return []
        if not depth and kind == TokenType.COMMA:
            ends += [] if named else [end - 1]
        named = (named or kind == TokenType.ALIAS) if depth or kind != TokenType.COMMA else False
        end += 1
    if end >= len(tokens) or tokens[end - 1].token_type == TokenType.COMMA:
        return []
    return ends if named else [*ends, end - 1]


def wrap_named_lambdas(tokens: Tokens) -> Tokens:
    """`WITH x -> x + 1 AS f` → `WITH lambda(x -> x + 1) AS f`: outside of a call, sqlglot reads an element of JSON."""
    spans = dict(span for index in range(len(tokens)) for span in _named_lambdas(tokens, index))
    ends = set(spans.values())
    out: Tokens = []
    for index, token in enumerate(tokens):
        if index in spans:
            out += [token_like(token, TokenType.VAR, LAMBDA), token_like(token, TokenType.L_PAREN, "(")]
        out.append(token)
        if index in ends:
            out.append(token_like(token, TokenType.R_PAREN, ")"))
    return out


def _named_lambdas(tokens: Tokens, index: int) -> list[tuple[int, int]]:
    """The first and the last token of each lambda in the WITH list that begins at `index`."""
    if tokens[index].token_type != TokenType.WITH:
        return []
    spans: list[tuple[int, int]] = []
    start, depth, at = index + 1, 0, index + 1
    while at < len(tokens) and (depth or tokens[at].token_type != TokenType.SELECT):
        kind = tokens[at].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth < 0:
            return []
        if not depth and kind == TokenType.ALIAS and _is_lambda(tokens, start):
            spans.append((start, at - 1))
        start = at + 1 if not depth and kind == TokenType.COMMA else start
        at += 1
    return spans


def _is_lambda(tokens: Tokens, start: int) -> bool:
    """Whether `x ->` or `(x, y) ->` begins here."""
    last = closing_parenthesis(tokens, start) if tokens[start].token_type == TokenType.L_PAREN else start
    return _kind_at(tokens, last + 1) == TokenType.ARROW


_TIME_LITERALS = {"date": "toDate", "timestamp": "toDateTime"}


def rewrite_time_literals(tokens: Tokens) -> Tokens:
    """`DATE '2024-01-31'` → `toDate('2024-01-31')`, as ClickHouse reads it; TIMESTAMP likewise."""
    out: Tokens = []
    for index, token in enumerate(tokens):
        if _is_time_word(tokens, index):
            out.append(token_like(token, TokenType.VAR, _TIME_LITERALS[token.text.lower()]))
        elif token.token_type == TokenType.STRING and _is_time_word(tokens, index - 1):
            out += [token_like(token, TokenType.L_PAREN, "("), token, token_like(token, TokenType.R_PAREN, ")")]
        else:
            out.append(token)
    return out


def _is_time_word(tokens: Tokens, index: int) -> bool:
    """Whether a text that is written as a time begins at `index`."""
    if index < 0 or tokens[index].text.lower() not in _TIME_LITERALS or _kind_at(tokens, index + 1) != TokenType.STRING:
        return False
    named = tokens[index].token_type in (TokenType.STRING, TokenType.IDENTIFIER)
    return not named and _kind_at(tokens, index - 1) not in (TokenType.ALIAS, TokenType.DCOLON, TokenType.DOT)


_OPERAND_ENDS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET}
)
_OPERAND_STARTS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.L_PAREN, TokenType.DASH}
)


def rewrite_modulo(tokens: Tokens) -> Tokens:
    """`a MOD b` → `a % b`: between two operands, MOD is neither a name nor a call."""
    return [
        token_like(token, TokenType.MOD, "%")
        if token.text.lower() == "mod"
        and _kind_at(tokens, index - 1) in _OPERAND_ENDS
        and _kind_at(tokens, index + 1) in _OPERAND_STARTS
        else token
        for index, token in enumerate(tokens)
    ]


def rewrite_position(tokens: Tokens) -> Tokens:
    """`position(needle IN text)` → `position(text, needle)`, as ClickHouse reads and names it."""
    out = list(tokens)
    for index, token in enumerate(tokens):
        if token.text.lower() != "position" or _kind_at(tokens, index + 1) != TokenType.L_PAREN:
            continue
        end = closing_parenthesis(tokens, index + 1)
        inner = tokens[index + 2 : end]
        places = [place for place, each in enumerate(inner) if each.token_type == TokenType.IN]
        if len(places) == 1 and not any(each.token_type in _NO_POSITION for each in inner):
            comma = token_like(token, TokenType.COMMA, ",")
            out[index + 2 : end] = [*inner[places[0] + 1 :], comma, *inner[: places[0]]]
    return out


_NO_POSITION = frozenset({TokenType.COMMA, TokenType.L_PAREN, TokenType.SELECT})
"""Tokens beside which IN may be that of a list: only plain operands are read."""
_QUANTIFIERS = {"any": TokenType.EQ, "some": TokenType.EQ, "all": TokenType.NEQ}


def rewrite_quantifiers(tokens: Tokens) -> Tokens:
    """`a = ANY (SELECT …)` → `a IN (SELECT …)`, `a <> ALL (SELECT …)` → `a NOT IN (SELECT …)`, as ClickHouse reads
    them."""
    out: Tokens = []
    for index, token in enumerate(tokens):
        if _is_quantifier(tokens, index + 1):
            negation = [token_like(token, TokenType.NOT, "NOT")] if token.token_type == TokenType.NEQ else []
            out += [*negation, token_like(token, TokenType.IN, "IN")]
        elif not _is_quantifier(tokens, index):
            out.append(token)
    return out


def _is_quantifier(tokens: Tokens, index: int) -> bool:
    """Whether ANY, SOME or ALL of a SELECT stands behind an operator with which it is IN or NOT IN."""
    before, after = _kind_at(tokens, index - 1), [_kind_at(tokens, index + step) for step in (1, 2)]
    operator = _QUANTIFIERS.get(tokens[index].text.lower()) if index < len(tokens) else None
    return operator is not None and before == operator and after in _QUERY_STARTS


_QUERY_STARTS = ([TokenType.L_PAREN, TokenType.SELECT], [TokenType.L_PAREN, TokenType.WITH])


_SUMS = frozenset({TokenType.NUMBER, TokenType.PLUS, TokenType.DASH, TokenType.STAR})


def keep_computed_places(tokens: Tokens) -> Tokens:
    """`tags[0 + 1]` → `tags[0x0 + 0x1]`: sqlglot computes a place of decimal numbers, whose name is then another."""
    out = list(tokens)
    for index, token in enumerate(tokens):
        if token.token_type != TokenType.L_BRACKET or _kind_at(tokens, index - 1) not in _OPERAND_ENDS:
            continue
        end = index + 1
        while _kind_at(tokens, end) in _SUMS:
            end += 1
        if _kind_at(tokens, end) == TokenType.R_BRACKET and end > index + 3:
            for place in range(index + 1, end):
                if tokens[place].text.isdigit():
                    out[place] = token_like(tokens[place], TokenType.HEX_STRING, f"{int(tokens[place].text):x}")
    return out


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite, and what a text has that it changes; no other rewrite makes any of it."""

    run: Callable[[Tokens], Tokens]
    kinds: frozenset[TokenType] = frozenset()
    """The kinds of token that are all there."""
    words: frozenset[str] | None = None
    """Some token is one of these, in any case."""


def _of(run: Callable[[Tokens], Tokens], *kinds: TokenType) -> Rewrite:
    return Rewrite(run, frozenset(kinds))


REWRITES: tuple[Rewrite, ...] = (
    _of(name_with_expressions, TokenType.WITH),
    _of(wrap_named_lambdas, TokenType.WITH, TokenType.ARROW),
    _of(wrap_choices, TokenType.ARROW, TokenType.PLACEHOLDER),
    _of(wrap_named_keys, TokenType.GROUP_BY, TokenType.ALIAS),
    _of(wrap_named_keys, TokenType.ORDER_BY, TokenType.ALIAS),
    _of(rewrite_limit_by, TokenType.LIMIT),
    _of(rewrite_bare_except, TokenType.EXCEPT),
    _of(rewrite_samples, TokenType.TABLE_SAMPLE),
    _of(rewrite_intervals, TokenType.INTERVAL),
    _of(rewrite_cast_sets, TokenType.DCOLON),
    _of(keep_computed_places, TokenType.L_BRACKET, TokenType.NUMBER),
    _of(free_bare_names),
    Rewrite(rewrite_time_literals, words=frozenset(_TIME_LITERALS)),
    Rewrite(rewrite_modulo, words=frozenset({"mod"})),
    Rewrite(rewrite_position, words=frozenset({"position"})),
    Rewrite(rewrite_quantifiers, words=frozenset(_QUANTIFIERS)),
    _of(mark_calls),
    _of(mark_membership_calls, TokenType.IN),
    Rewrite(mark_calls_of_one, words=frozenset({"and", "or"})),
    Rewrite(rewrite_matchers, words=frozenset({"columns", "apply", "except"})),
    _of(merge_parameters),
)
"""In this order: calls must be marked before their parameters are searched."""
