"""Static methods of Java are found in whichever order Java lists the methods of a class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

import penstock
from penstock.lake.spark.class_archive import CLASS_PATH
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.packages import package_configuration
from penstock.lake.tables.java_methods import call_class_method
from penstock.model.settings import SparkSettings

PLAIN_CALL = re.compile(r"\bjvm\.((?:org\.apache|java)\.[\w.]+\.[A-Z]\w+)\.(\w+)\(")


@pytest.fixture(scope="module")
def gateway() -> Iterator[JavaGateway]:
    """A Java with Spark's classes, and without Spark."""
    jars = Path(pyspark.__path__[0]) / "jars"
    port = launch_gateway(
        classpath=f"{package_configuration(SparkSettings(), '').get(CLASS_PATH)}:{jars}/*",
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        java_path=str(find_java_home() / "bin" / "java"),
        die_on_exit=True,
    )
    opened = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield opened
    opened.shutdown()


def is_ambiguous(gateway: JavaGateway, class_name: str, method: str) -> bool:
    """Whether both the class and its instances have a method of the name."""
    found = gateway.jvm.java.lang.Class.forName(class_name).getMethods()
    is_static = gateway.jvm.java.lang.reflect.Modifier.isStatic
    return len({is_static(each.getModifiers()) for each in found if each.getName() == method}) > 1


def test_a_static_method_is_found_beside_one_of_instances(gateway: JavaGateway) -> None:
    name = "org.apache.iceberg.spark.SparkTableCache"
    assert is_ambiguous(gateway, name, "get")
    assert call_class_method(gateway.jvm, name, "get").size() == 0


def test_no_plain_call_depends_on_the_order(gateway: JavaGateway) -> None:
    sources = Path(penstock.__file__).parent.rglob("*.py")
    calls = {each for source in sources for each in PLAIN_CALL.findall(source.read_text(encoding="utf-8"))}
    assert len(calls) >= 5, "the pattern finds them"
    assert [each for each in calls if is_ambiguous(gateway, *each)] == []
