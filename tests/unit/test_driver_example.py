"""The example of a DRA driver, as far as no driver is started; tests/e2e has the rest."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "dra-driver"
GUIDE = ROOT / "docs" / "drivers.md"


@pytest.mark.parametrize("name", ["dra.proto", "registration.proto"])
def test_the_guide_has_the_files_that_the_example_compiles(name: str) -> None:
    blocks = re.findall(r"^```proto\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert (EXAMPLE / name).read_text() in blocks


@pytest.mark.parametrize("name", ["driver.py", "driver.js"])
def test_it_is_written_from_the_protocol_alone(name: str) -> None:
    text = (EXAMPLE / name).read_text()
    assert not re.search(r"\b(?:import|from|require\()\W*(?:harness|flake_hunt)", text)
    code = [line for line in text.splitlines() if line.strip() and not line.startswith("//")]
    assert len(code) <= 120
