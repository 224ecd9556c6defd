"""Hostile names in the page and the picture of an issue are shown, not obeyed."""

import pathlib
import re
import xml.etree.ElementTree as ET

import pytest

from harness import rates
from harness.history import directories
from harness.reproduction.issue import issue_texts, pictures, specimens
from tests.histories import hostile_names
from tests.unit.reproduction import scenarios


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> directories.RunDirectory:
    return hostile_names.build(tmp_path / "run")


def _page(directory: directories.RunDirectory) -> str:
    scenario = scenarios.scenario()
    found = issue_texts.Findings(
        original=scenario,
        scenario=scenario,
        rate=rates.Rate(14, 20),
    )
    return issue_texts.of(specimens.read(directory.path, "device_exclusivity"), found)


def _outside_code(markdown: str) -> str:
    """Remove blocks and spans of code, in which nothing has a meaning."""
    without_blocks = re.sub(r"^(`{3,})[^\n]*\n.*?\n\1$", "", markdown, flags=re.M | re.S)
    return re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", without_blocks)


def test_the_page_of_an_issue(directory: directories.RunDirectory) -> None:
    page = _page(directory)
    assert hostile_names.OBEYED.findall(page) == []
    prose = _outside_code(page)
    assert re.findall(r"(?<!\\)<(?!/?(?:details|summary)>)", prose) == []
    assert re.findall(r"(?<!\\)\[x", prose) == []
    assert re.findall(r"@all|http://y", prose) == []


def test_the_picture_of_an_issue(directory: directories.RunDirectory) -> None:
    specimen = specimens.read(directory.path, "device_exclusivity")
    assert specimen.strip is not None
    drawn = pictures.standalone(specimen.strip.picture)
    assert hostile_names.OBEYED.findall(drawn) == []
    assert "img" not in {element.tag for element in ET.fromstring(drawn).iter()}
    assert hostile_names.MARKUP in "".join(ET.fromstring(drawn).itertext())
