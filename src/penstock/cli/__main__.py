"""`python -m penstock.cli`: the same as the command `penstock`."""

from penstock.cli.main import app

app()
