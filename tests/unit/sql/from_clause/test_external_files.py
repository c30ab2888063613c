"""`url(…)`, `s3(…)`, `gcs(…)`: arguments as ClickHouse takes them; what would be guessed must be written; keys are
secrets."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery, Problem
from penstock.model.external_tables import Bucket, BucketLogin, ExternalColumns, ExternalTable, RemoteFiles, show_place
from penstock.model.types import Int, Nullable, String
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.pipe_check import check_pipe
from penstock.sql.compile import compile_copy
from penstock.sql.compiler.caller import Caller
from penstock.sql.query import CompiledCopy
from penstock.template.render_frame import RenderInput

TARGET = "SCHEMA >\n    `id` Int64,\n    `code` String\n"
STRUCTURE = "'id Int64, code String'"
SECRETS = RenderInput(
    "call", {}, {"k": "AKIA1", "s": "geheim1", "t": "geheim2", "auth": "Bearer geheim3", "a": "https://h/geheim4.csv"}
)
KEYS = "{{ tb_secret('k') }}, {{ tb_secret('s') }}"
S3 = "'https://b.s3.eu-west-1.amazonaws.com/x/{1..3}*.csv.gz'"


def project(call: str, select: str = "*", ending: str = "TYPE copy\nTARGET_DATASOURCE t") -> LoadedProject:
    pipe = f"NODE n\nSQL >\n    %\n    SELECT {select} FROM {call}\n{ending}\n"
    loaded = load_files({"t.datasource": TARGET, "c.pipe": pipe})
    assert not loaded.problems
    return loaded


def check(call: str, select: str = "*", ending: str = "TYPE copy\nTARGET_DATASOURCE t") -> tuple[Problem, ...]:
    loaded = project(call, select, ending)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    try:
        return check_pipe(loaded.project, pipe).problems
    except InvalidQuery as error:
        return error.problems


def compiled(call: str, select: str = "*", given: RenderInput = SECRETS) -> CompiledCopy:
    def tell(table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
        return ExternalColumns({"id": Nullable(Int(64)), "code": String()}, {"odd": "is of type x"})

    loaded = project(call, select)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    assert pipe.copied is not None
    return compile_copy(loaded.project, pipe, pipe.copied, given, Caller(external=tell))


def files_of(call: str) -> RemoteFiles:
    (read,) = compiled(call, "id").externals
    assert isinstance(read.table, RemoteFiles)
    return read.table


@pytest.mark.parametrize(
    ("call", "file_format", "packing", "named"),
    [
        ("url('https://h/a.parquet')", "Parquet", "auto", False),
        ("url('https://h/a.PARQUET?x=1', auto)", "Parquet", "auto", False),
        (f"url('https://h/a', CSV, {STRUCTURE})", "CSV", "auto", True),
        (f"url('https://h/a', 'csvwithnames', {STRUCTURE}, 'gz')", "CSVWithNames", "gzip", True),
        (f"url('https://h/a.tsv.gz', 'auto', {STRUCTURE})", "TabSeparated", "auto", True),
        (f"url('http://h:81/a.jsonl', auto, {STRUCTURE}, none)", "JSONEachRow", "none", True),
        (
            f"url('https://h/a', TSVWithNames, {STRUCTURE}, zstd, headers('X-A'='b'))",
            "TabSeparatedWithNames",
            "zstd",
            True,
        ),
        ("url('https://h/a', Parquet, 'auto')", "Parquet", "auto", False),
        (f"s3({S3}, CSV, {STRUCTURE})", "CSV", "auto", True),
        (f"s3({S3}, NOSIGN, CSVWithNames, {STRUCTURE})", "CSVWithNames", "auto", True),
        (f"s3({S3}, {KEYS}, 'CSV', {STRUCTURE}, 'gzip')", "CSV", "gzip", True),
        (f"s3({S3}, {KEYS}, {{{{ tb_secret('t') }}}}, 'NDJSON', {STRUCTURE})", "JSONEachRow", "auto", True),
        ("s3('s3://b/x.parquet')", "Parquet", "auto", False),
        (f"s3('s3://b/x.parquet', {KEYS})", "Parquet", "auto", False),
        ("gcs('gs://b/x.parquet')", "Parquet", "auto", False),
    ],
)
def test_arguments_are_taken_by_their_places(call: str, file_format: str, packing: str, named: bool) -> None:
    files = files_of(call)
    assert (files.format, files.packing, bool(files.columns)) == (file_format, packing, named)
    assert [each for each in check(call, "id") if each.level == "error"] == []


@pytest.mark.parametrize(
    ("address", "bucket", "key"),
    [
        (
            "https://b.s3.eu-west-1.amazonaws.com/k/x.csv",
            ("https://s3.eu-west-1.amazonaws.com", "b", "eu-west-1", True),
            "k/x.csv",
        ),
        (
            "https://b.s3-eu-west-1.amazonaws.com/x.csv",
            ("https://s3-eu-west-1.amazonaws.com", "b", "eu-west-1", True),
            "x.csv",
        ),
        ("https://my.b.s3.amazonaws.com/x.csv", ("https://s3.amazonaws.com", "my.b", "us-east-1", True), "x.csv"),
        (
            "https://s3.us-west-2.amazonaws.com/b/k/x.csv",
            ("https://s3.us-west-2.amazonaws.com", "b", "us-west-2", False),
            "k/x.csv",
        ),
        ("s3://b/k/x%20y?.csv", ("https://s3.amazonaws.com", "b", "us-east-1", True), "k/x y?.csv"),
        ("http://minio:9000/b/k/x.csv", ("http://minio:9000", "b", "us-east-1", False), "k/x.csv"),
        ("https://storage.googleapis.com/b/x.csv", ("https://storage.googleapis.com", "b", "auto", False), "x.csv"),
        ("https://b.storage.googleapis.com/x.csv", ("https://storage.googleapis.com", "b", "auto", True), "x.csv"),
        ("gs://b/x.csv", ("https://storage.googleapis.com", "b", "auto", False), "x.csv"),
    ],
)
def test_addresses_of_buckets(address: str, bucket: tuple[str, str, str, bool], key: str) -> None:
    files = files_of(f"s3('{address}', {KEYS}, CSV, {STRUCTURE})")
    assert files.bucket == Bucket(*bucket, BucketLogin("AKIA1", "geheim1"))
    assert files.place == key


@pytest.mark.parametrize(
    ("call", "told", "hint"),
    [
        ("url()", "`url` needs an address", "write url("),
        ("url('file:///etc/passwd', CSV, 'x String')", "must begin with https:// or http://", "datasource append"),
        ("url('ftp://h/x', CSV, 'x String')", "must begin with https:// or http://", ""),
        ("url('https:///x', CSV, 'x String')", "name a host", ""),
        ("url('https://h:99999/x', CSV, 'x String')", "name a host", ""),
        ("url('https://ann:geheim@h/x', CSV, 'x String')", "has a login in it", "headers('Authorization'="),
        ("url(concat('a', 'b'), CSV, 'x String')", "must be a text in quotes", ""),
        ("url('https://h/x', CSV, 'x Strin')", "the structure is wrong", "String"),
        ("url('https://h/x', CSV, 'x String DEFAULT 1')", "more than a name and a type", ""),
        ("url('https://h/x', CSV, 'x AggregateFunction(sum, Int8)')", "more than a name and a type", ""),
        ("url('https://h/x', CSV, '_path String')", "`_path` is the place of the file", ""),
        ("url('https://h/x', CSV, 'x String', 'gz', 'more')", "too many arguments", ""),
        (
            "url('https://h/x', CSV, 'x String', headers('Authorization'='Bearer geheim'))",
            "must come from a secret",
            "tb_secret",
        ),
        ("url('https://h/x', CSV, 'x String', headers('Host'='b'))", "this header cannot be set", ""),
        ("url('https://h/x', CSV, 'x String', headers('X'='a\\nB: c'))", "this header cannot be set", ""),
        ("s3('https://h/only')", "none of an object in a bucket", "no key after the bucket"),
        ("s3('/etc/passwd', CSV, 'x String')", "none of an object in a bucket", ""),
        (
            "s3('s3://b/x.csv', 'AKIA', 'geheim', CSV, 'x String')",
            "the key of `s3` must come from a secret",
            "tb_secret",
        ),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(call: str, told: str, hint: str) -> None:
    (found,) = check(call, "1 AS id")
    assert found.level == "error"
    assert told in found.message
    assert hint in (found.hint or "")
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("c.pipe", 4)
    assert "geheim" not in str(found)


@pytest.mark.parametrize(
    ("call", "told", "hint"),
    [
        (
            "url('https://h/a.csv')",
            "the columns of a file of the format CSV must be written",
            "'id Int64, name String'",
        ),
        (
            "url('https://h/a', JSONEachRow)",
            "the columns of a file of the format JSONEachRow must be written",
            "id Int64",
        ),
        ("url('https://h/a.csv', CSV, auto)", "must be written: they are not guessed", ""),
        ("url('https://h/a')", "the format cannot be told from the end of the address", "write it: url("),
        ("url('https://h/a.json')", "the format cannot be told", ""),
        ("url('https://h/a', ORC)", "files of the format ORC are not read here", "CSV, CSVWithNames, JSONEachRow"),
        (
            "url('https://h/a', CSVWithName, 'id Int8')",
            "files of the format CSVWithName are not read here",
            "did you mean `CSVWithNames`",
        ),
        ("url('https://h/a|b', CSV, 'x String')", "`|` between addresses", "{a,b}"),
        ("url('https://h/x', CSV, 'x String', 'snappy')", "this compression is not in this version", "gzip"),
        ("url(url='https://h/x')", "by their position", ""),
        ("s3('s3://b/x.csv', 'what')", "neither a format that `s3` reads, nor NOSIGN, nor two keys", ""),
        ("s3('s3://b/x.csv', NOSIGN, CSV)", "must be written: they are not guessed", "s3("),
        ("gcs('gs://b/x', NOSIGN)", "the format cannot be told", "gcs("),
        ("s3(my_collection, filename = 'x')", "by their position", ""),
        ("s3(my_collection)", "named collections are not in this version", ""),
    ],
)
def test_what_only_clickhouse_reads_keeps_nothing_from_deploying(call: str, told: str, hint: str) -> None:
    (found,) = check(call, "1 AS id")
    assert (found.level, found.code) == ("warning", "unsupported-source")
    assert found.message.startswith("this copy does not run: ")
    assert told in found.message
    assert hint in (found.hint or "")
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("c.pipe", 4)
    assert "geheim" not in str(found)


@pytest.mark.parametrize("ending", ["TYPE endpoint", "TYPE materialized\nDATASOURCE t"])
@pytest.mark.parametrize("function", ["url", "s3", "gcs"])
def test_only_copies_read_files(function: str, ending: str) -> None:
    (found,) = check(f"{function}('https://h/b/a.parquet')", "1 AS id", ending)
    assert f"`{function}(…)` is read by copies only" in found.message


def test_columns_that_are_written_are_known_before_it_runs() -> None:
    call = f"url('https://h/a.csv', CSV, {STRUCTURE})"
    (found,) = check(call, "idd AS id, code")
    assert (found.level, found.message) == ("error", "unknown column `idd`")
    assert check(call, "id, upper(code) AS code") == ()


def test_a_file_that_is_not_known_yet_is_guessed() -> None:
    assert check("url('https://h/a.parquet')", "id, lower(name) AS code") == ()
    assert check("url({{ tb_secret('a') }}, Parquet)", "id") == ()
    (found,) = check("url({{ tb_secret('a') }})", "id")
    assert "the format cannot be told" in found.message


def test_the_place_of_a_row_is_no_part_of_a_star() -> None:
    call = f"url('https://h/a.csv', CSV, {STRUCTURE})"
    (read,) = compiled(call).externals
    assert read.columns == {"id", "code"}
    (read,) = compiled(call, "length(_path) AS id, _file AS code").externals
    assert read.columns == {"_path", "_file"}


def test_an_unreadable_column_is_an_error_if_it_is_read() -> None:
    with pytest.raises(InvalidQuery) as refused:
        compiled("url('https://h/a.parquet')", "odd AS id")
    assert refused.value.problems[0].message == "the column `odd` is of type x"


def test_no_secret_is_shown() -> None:
    for call in (
        f"s3('s3://b/x.csv', {KEYS}, {{{{ tb_secret('t') }}}}, CSV, {STRUCTURE})",
        f"url({{{{ tb_secret('a') }}}}, CSV, {STRUCTURE}, headers('Authorization'={{{{ tb_secret('auth') }}}}))",
    ):
        made, files = compiled(call), files_of(call)
        assert "geheim" not in repr(made) + made.query.sql + show_place(files, files.place)
    assert files_of(call).headers == (("Authorization", "Bearer geheim3"),)


def test_a_key_that_a_caller_gives_is_refused() -> None:
    given = RenderInput("call", {"k": "hunter22"}, {"s": "geheim1"})
    with pytest.raises(InvalidQuery) as refused:
        compiled(f"s3('s3://b/x.csv', {{{{ String(k) }}}}, {{{{ tb_secret('s') }}}}, CSV, {STRUCTURE})", given=given)
    assert "must come from a secret" in refused.value.problems[0].message
    assert "hunter22" not in str(refused.value.as_json())
