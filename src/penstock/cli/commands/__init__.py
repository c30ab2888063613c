"""The commands, one module for each, with the name of the command."""
