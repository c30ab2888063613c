"""The command `penstock dev`: the plan of a project at each save."""
