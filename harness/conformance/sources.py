"""Addresses of the sources that rules name."""

import functools
import importlib.resources
import re
from typing import Any

import yaml


def address(source: str) -> str:
    """Return the address of a source; empty if no form of `sources.yaml` is its own."""
    for form, found in _addresses().items():
        if match := re.fullmatch(form, source):
            return match.expand(found)
    return ""


@functools.cache
def _addresses() -> Any:
    text = importlib.resources.files(__package__).joinpath("sources.yaml").read_text("utf-8")
    return yaml.safe_load(text)
