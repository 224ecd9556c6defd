"""Folders of nodes that an option names, with `{node}` in it for one folder a node."""

import functools
import glob
import pathlib

NODE = "{node}"
"""Stands for the name of a node."""


@functools.lru_cache(1024)
def of_node(template: str, node: str) -> pathlib.Path:
    return pathlib.Path(template.replace(NODE, node))


def pattern(template: str) -> str:
    return "*".join(map(glob.escape, template.split(NODE)))
