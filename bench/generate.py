"""A project of any size, and an edited copy of it: what the planner's speed is measured on.

In: a folder, a number of resources, a seed. Out: `before` and `after` in the folder. The same numbers give the same
files; the edited copy plans without an error.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shapes import Column, Module, Source, chain, diamond, fan


def project(resources: int, seed: int) -> tuple[Module, ...]:
    """Modules of at least so many resources together, fewer than one module's more."""
    dice = random.Random(seed)
    shapes, modules, made = (chain, fan, diamond), list[Module](), 0
    while made < resources:
        modules.append(shapes[len(modules) % 3](f"events_{len(modules)}", dice))
        made += modules[-1].size
    return tuple(modules)


def add_column(module: Module) -> Module:
    extra = Column("added", "Nullable(String)", "`json:$.added`")
    first = module.sources[0]
    return replace(module, sources=(replace(first, columns=(*first.columns, extra)), *module.sources[1:]))


def change_type(module: Module) -> Module:
    """A type that holds less, so that a forward query has to say what becomes of the rows."""
    old = next(each for each in module.sources[0].columns if each.type == "DateTime64(3)")
    new = replace(old, type="DateTime")
    first = replace(
        _swapped(module.sources[0], old, new), forward=f"SELECT * REPLACE (toDateTime({old.name}) AS {old.name})"
    )
    return replace(module, sources=(first, *module.sources[1:]))


def rename_column(module: Module) -> Module:
    """In the landing; what the views make keeps its names."""
    first = module.sources[0]
    old = next(each for each in first.columns if each.type == "UUID")
    new = replace(old, name="renamed", more=f"{old.more} RENAMED_FROM {old.name}")
    views = (
        replace(view, items=tuple(("renamed", to) if sql == old.name else (sql, to) for sql, to in view.items))
        if view.reads == first.name
        else view
        for view in module.views
    )
    return Module((_swapped(first, old, new), *module.sources[1:]), tuple(views))


def _swapped(source: Source, old: Column, new: Column) -> Source:
    return replace(source, columns=tuple(new if each == old else each for each in source.columns))


def change_filter(module: Module) -> Module:
    return replace(module, views=(replace(module.views[0], where="dimension_1 = 'edited'"), *module.views[1:]))


def reformat(module: Module) -> Module:
    """Comments and line breaks, which change nothing."""
    return Module(
        tuple(replace(each, note="# Looked through.\n") for each in module.sources),
        tuple(replace(each, note="# Looked through.\n", between=",  -- so\n    ") for each in module.views),
    )


def move(module: Module) -> Module:
    """To another folder, which changes nothing."""
    folder = f"moved/{module.sources[0].name}"
    return Module(
        tuple(replace(each, folder=folder) for each in module.sources),
        tuple(replace(each, folder=folder) for each in module.views),
    )


CHANGES = (add_column, change_type, rename_column, change_filter)


def edited(modules: Sequence[Module]) -> tuple[Module, ...]:
    """Each change three times, spread over the project, if it has the modules; one module in ten
    reformatted, one moved."""
    found = list(modules)
    for at in range(0, len(found), 10):
        found[at] = reformat(found[at])
        if at + 5 < len(found):
            found[at + 5] = move(found[at + 5])
    places = min(3 * len(CHANGES), len(found))  # a module has one at most: two could be of one column
    for place in range(places):
        at = place * len(found) // places
        found[at] = CHANGES[place % len(CHANGES)](found[at])
    return tuple(found)


def write(modules: Sequence[Module], folder: Path) -> None:
    """The files of a project."""
    for each in (each for module in modules for each in (*module.sources, *module.views)):
        path = folder / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each.text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a project and an edited copy of it.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resources", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    before = project(asked.resources, asked.seed)
    write(before, asked.folder / "before")
    write(edited(before), asked.folder / "after")


if __name__ == "__main__":
    main()
