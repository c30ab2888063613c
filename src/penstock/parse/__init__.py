"""Parses the text of a project: datafiles and `penstock.toml`.

In: a folder or an upload. Out: a `Project`, `Settings` and located problems. Invariant: no text raises; each mistake
is a problem with its place.
"""
