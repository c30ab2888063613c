"""Calls of Java's static methods that are sure to find them.

In: the name of a class and of a method without arguments. Out: what it returns. Invariant: it does not matter whether
instances have a method of that name too. Py4J's own `Class.name` asks for the first method that Java lists, and fails
if that is one of instances; the list has another order with each archive of classes that Java starts from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.java_gateway import JavaMember
from py4j.protocol import STATIC_PREFIX

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject, JVMView


def call_class_method(jvm: JVMView, class_name: str, method: str) -> JavaObject:
    """Call the static method that takes no arguments; the class by its whole name."""
    return JavaMember(method, None, STATIC_PREFIX + class_name, jvm._gateway_client)()
