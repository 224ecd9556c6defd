"""Folders of nodes that an option names, with `{node}` in it for one folder a node."""

import pathlib

NODE = "{node}"
"""Stands for the name of a node."""


def of_node(template: str, node: str) -> pathlib.Path:
    """Return the folder of a node."""
    return pathlib.Path(template.replace(NODE, node))
