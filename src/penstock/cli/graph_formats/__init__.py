"""The graph of a project in formats that other programs draw, and drawn as SVG."""
