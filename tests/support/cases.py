"""Tables of cases as data: a YAML file beside the module of the test, with one line a case."""

import pathlib
from typing import Any

import yaml


def read(module: str, table: str) -> Any:
    """Return a table of the YAML file that has the module's name."""
    text = pathlib.Path(module).with_suffix(".yaml").read_text()
    return yaml.load(text, Loader=yaml.CSafeLoader)[table]
