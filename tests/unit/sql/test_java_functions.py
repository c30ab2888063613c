"""The functions that compiled SQL calls and Spark does not have are those that a session registers."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.lake.spark.packages import TEXT_FUNCTIONS_JAR
from penstock.model.json_documents import spark_functions

SOURCES = Path(__file__).parents[3] / "src/penstock"


def test_each_static_java_function_is_called_and_each_called_one_is_registered() -> None:
    source = (Path(TEXT_FUNCTIONS_JAR).parent / "StaticFunctions.java").read_text(encoding="utf-8")
    registered = set(re.findall(r'add\("(penstock_\w+)"', source))
    assert len(registered) > 20
    constants = {value for value in vars(spark_functions).values() if isinstance(value, str)}
    texts = [path.read_text(encoding="utf-8") for path in (SOURCES / "sql").rglob("*.py")]
    written = {name for text in texts for name in re.findall(r"penstock_\w+(?=\(|'| if)", text)}
    assert registered <= written | constants
    assert written <= registered | constants
