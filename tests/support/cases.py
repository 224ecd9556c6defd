"""Tables of cases as data: a YAML file beside the module of the test, with one line a case."""

import pathlib
from typing import Any

import pytest
import yaml


def read(module: str, table: str) -> Any:
    """Return a table of the YAML file that has the module's name."""
    text = pathlib.Path(module).with_suffix(".yaml").read_text()
    return yaml.load(text, Loader=yaml.CSafeLoader)[table]


def params(module: str, table: str) -> list[Any]:
    """The cases of a table as parameters of a test, with their titles if they have any."""
    found = read(module, table)
    named = found.items() if isinstance(found, dict) else ((None, case) for case in found)
    return [pytest.param(*case, id=title) for title, case in named]
