"""CEL selectors: which are stored, and why others are not."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.apiserver.scheme import feature_gates
from harness.apiserver.validation import dra_rules
from tests.support import cases


def problems(text: str) -> list[str]:
    found = dra_rules.SELECTORS([{"cel": {"expression": text}}], "s")
    return [cause.text() for cause in found]


def test_what_compiles() -> None:
    good = cases.read(__file__, "good")
    assert {text: problems(text) for text in good} == {text: [] for text in good}


def test_what_does_not() -> None:
    for text, problem in cases.read(__file__, "bad"):
        (found,) = problems(text)
        assert found.endswith(problem)


def test_types_are_checked() -> None:
    (found,) = problems("device.driver == 1")
    assert "found no matching overload for '_==_' applied to '(string, int)'" in found


def test_long_expressions_are_not_compiled() -> None:
    (found,) = problems("é" * 5121)
    assert found == "s[0].cel.expression: Too long: may not be more than 10240 bytes"


def test_compiling_is_imported_late() -> None:
    """CEL is slow to import, so a server without selectors never imports it."""
    code = "import sys, harness.apiserver.registry.store; print('cel_expr_python' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.fixture
def list_attributes() -> Iterator[None]:
    feature_gates.choose({feature_gates.LIST_ATTRIBUTES: True})
    yield
    feature_gates.choose(feature_gates.DEFAULTS)


INCLUDES = 'device.attributes["d"].models.includes("a")'


@pytest.mark.usefixtures("list_attributes")
def test_includes_is_known_with_list_attributes() -> None:
    assert not problems(INCLUDES)


def test_includes_is_unknown_without_list_attributes() -> None:
    (found,) = problems(INCLUDES)
    assert "undeclared reference to 'includes'" in found
