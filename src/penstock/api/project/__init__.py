"""Projects in Python: a module is run in a process of its own, and the objects that it declares become datafiles.

In: a folder with Python files. Out: texts of datafiles with the place in Python of each line, and located problems.
Invariant: the process that asks runs no code of the project.
"""
