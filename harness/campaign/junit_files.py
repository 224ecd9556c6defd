"""junit.xml of a night: the test suites of its campaigns, which pytest has written, in one file."""

import pathlib
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from harness import writing

NAME = "junit.xml"
"""In the folder of each campaign."""


def merge(campaigns: Iterable[pathlib.Path], target: pathlib.Path) -> None:
    """Write the suites of all campaign folders into the target; each is named by its folder."""
    merged = ET.Element("testsuites", name="flake-hunt nightly")
    for folder in campaigns:
        for suite in ET.parse(folder / NAME).getroot().iter("testsuite"):  # noqa: S314 - our own file
            suite.set("name", f"{suite.get('name')} {folder.name}")
            merged.append(suite)
    ET.indent(merged)
    writing.replace(target, ET.tostring(merged, encoding="utf-8", xml_declaration=True))
