from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from penstock.errors import Failed
from penstock.lake.spark.catalog import pyiceberg_catalog_properties, spark_catalog_properties
from penstock.lake.spark.packages import (
    LOCAL_FILES_PACKAGE,
    OUR_JARS,
    PACKAGES,
    POSTGRES,
    package_configuration,
    packages_to_fetch,
)
from penstock.model.settings import Settings, SparkSettings

HOME = Path("/srv/project/.penstock")
PASSWORD = "p@ss:w/o%41r?d #é&=+"


def settings(uri: str, **properties: str) -> Settings:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return Settings(catalog={"type": "jdbc", "uri": uri, "warehouse": "file:///w", **given})


def test_the_embedded_catalog_is_one_file_for_both() -> None:
    assert spark_catalog_properties(Settings(), HOME)["uri"].startswith(
        "jdbc:sqlite:file:/srv/project/.penstock/catalog.db?"
    )
    assert pyiceberg_catalog_properties(Settings(), HOME)["uri"] == "sqlite:////srv/project/.penstock/catalog.db"


def test_a_password_with_any_character_arrives() -> None:
    made = settings("jdbc:postgresql://db.internal:5433/lake", jdbc_user="me@corp", jdbc_password=PASSWORD)
    assert spark_catalog_properties(made, HOME)["jdbc.password"] == PASSWORD
    url = sa.make_url(pyiceberg_catalog_properties(made, HOME)["uri"])
    assert (url.drivername, url.username, url.password) == ("postgresql+psycopg2", "me@corp", PASSWORD)
    assert (url.host, url.port, url.database) == ("db.internal", 5433, "lake")


def test_a_login_in_the_address_is_taken_out_of_it() -> None:
    uri = "jdbc:postgresql://h/lake?user=me&password=s%40cret&sslmode=require"
    java = spark_catalog_properties(settings(uri), HOME)
    assert (java["uri"], java["jdbc.user"], java["jdbc.password"]) == (
        "jdbc:postgresql://h/lake?sslmode=require",
        "me",
        "s@cret",
    )
    assert sa.make_url(pyiceberg_catalog_properties(settings(uri), HOME)["uri"]).password == "s@cret"


def test_what_both_drivers_know_is_said_to_both() -> None:
    made = settings("jdbc:postgresql://h/lake?currentSchema=mine&connectTimeout=3", jdbc_sslmode="verify-full")
    query = sa.make_url(pyiceberg_catalog_properties(made, HOME)["uri"]).query
    assert dict(query) == {
        "options": "-c synchronous_commit=on -csearch_path=mine",
        "connect_timeout": "3",
        "sslmode": "verify-full",
        "application_name": "penstock",
    }


def test_several_hosts_and_one_in_brackets() -> None:
    several = sa.make_url(pyiceberg_catalog_properties(settings("jdbc:postgresql://a:1,b,[::1]:3/lake"), HOME)["uri"])
    assert several.query["host"] == ("a:1", "b:5432", "[::1]:3")
    assert (
        sa.make_url(pyiceberg_catalog_properties(settings("jdbc:postgresql://[::1]:5433/lake"), HOME)["uri"]).host
        == "::1"
    )
    assert sa.make_url(pyiceberg_catalog_properties(settings("jdbc:postgresql:lake"), HOME)["uri"]).database == "lake"


def test_a_catalog_pyiceberg_could_not_read_is_refused_without_its_login() -> None:
    with pytest.raises(Failed) as raised:
        pyiceberg_catalog_properties(settings("jdbc:oracle:thin:@h?password=secret"), HOME)
    assert "secret" not in str(raised.value)


def test_a_remote_catalog_keeps_its_properties() -> None:
    made = Settings(catalog={"type": "rest", "uri": "http://h:8181", "warehouse": "s3://w"})
    assert pyiceberg_catalog_properties(made, HOME) == {"type": "rest", "uri": "http://h:8181", "warehouse": "s3://w"}


def test_logins_and_storage_reach_pyiceberg_too() -> None:
    rest = {
        "type": "rest",
        "uri": "http://h:8181",
        "credential": "id:secret",
        "s3.endpoint": "http://minio:9000",
        "s3.secret-access-key": "secret",
    }
    assert pyiceberg_catalog_properties(Settings(catalog=rest), HOME) == rest
    hadoop = {"spark.hadoop.fs.s3a.access.key": "k", "spark.hadoop.fs.s3a.endpoint": "http://minio:9000"}
    made = Settings(
        catalog={"type": "jdbc", "uri": "jdbc:postgresql://h/lake", "warehouse": "s3a://b/w", "s3.region": "eu"},
        spark=SparkSettings(conf=hadoop),
    )
    found = pyiceberg_catalog_properties(made, HOME)
    storage = {"s3.access-key-id": "k", "s3.endpoint": "http://minio:9000", "s3.region": "eu", "warehouse": "s3a://b/w"}
    assert storage.items() <= found.items()
    assert not any(name.startswith("jdbc.") for name in found)


def test_a_remote_catalog_without_a_warehouse_gets_no_local_folder() -> None:
    made = Settings(catalog={"type": "rest", "uri": "http://h:8181"})
    assert "warehouse" not in spark_catalog_properties(made, HOME)
    assert pyiceberg_catalog_properties(made, HOME) == {"type": "rest", "uri": "http://h:8181"}


def test_the_driver_comes_with_a_catalog_on_postgres(tmp_path: Path) -> None:
    spark = SparkSettings(conf={"spark.jars.ivy": str(tmp_path)})
    wanted = package_configuration(spark, "jdbc:postgresql://h/lake")["spark.jars.packages"].split(",")
    assert wanted == [*PACKAGES, POSTGRES]
    assert POSTGRES not in package_configuration(spark)["spark.jars.packages"]


def test_what_local_files_are_written_with_is_there_before_spark_resolves_anything(tmp_path: Path) -> None:
    conf = {"spark.jars.ivy": str(tmp_path)}
    plain, own = SparkSettings(conf=conf), SparkSettings(conf=conf, packages=("g:own:1",))
    assert packages_to_fetch(plain, "jdbc:postgresql://h/lake") == (*PACKAGES, POSTGRES)
    assert packages_to_fetch(own) == (LOCAL_FILES_PACKAGE,)
    assert packages_to_fetch(SparkSettings(conf=conf, master="spark://h:7077")) == ()
    (tmp_path / "jars").mkdir()
    jar = tmp_path / "jars" / "com.globalmentor_hadoop-bare-naked-local-fs-0.1.0.jar"
    jar.touch()
    assert packages_to_fetch(own) == ()
    found = package_configuration(own)
    assert found["spark.jars.packages"] == "g:own:1"
    assert found["spark.driver.extraClassPath"].split(":") == [str(jar), *map(str, OUR_JARS)]


def test_jars_fetched_before_are_taken_from_the_cache(tmp_path: Path) -> None:
    spark = SparkSettings(conf={"spark.jars.ivy": str(tmp_path)})
    (tmp_path / "jars").mkdir()
    for package in (*PACKAGES, POSTGRES):
        group, name, version = package.split(":")
        (tmp_path / "jars" / f"{group}_{name}-{version}.jar").touch()
    assert (
        "org.postgresql_postgresql"
        in package_configuration(spark, "jdbc:postgresql://h/l")["spark.driver.extraClassPath"]
    )
    assert "org.postgresql_postgresql" not in package_configuration(spark)["spark.driver.extraClassPath"]
