"""The text of a project to its values: `load` reads a folder or an upload, file by file.

In: datafiles and `penstock.toml`. Out: a `Project`, `Settings` and located problems. Called by serve,
deploy and cli. Invariant: no text raises; each thing that is wrong is a problem with its place.
"""
