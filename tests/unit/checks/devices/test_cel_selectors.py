"""The judge's own evaluator: what selectors of devices say, and what it does not know."""

import json

import msgspec
import pytest

from harness.checks.devices import cel_selectors
from harness.checks.observed import observed_cluster
from tests.support import text_tables

DRIVER = "d.example"
DEVICE = msgspec.convert(
    {
        "name": "x",
        "attributes": {
            "parts": {"int": 2},
            "model": {"string": "a-100"},
            "ready": {"bool": True},
            "firmware": {"version": "1.2.3-rc.1+build"},
            "other.example/models": {"strings": ["a", "b"]},
            "other.example/sizes": {"ints": [1, 2]},
        },
        "capacity": {"memory": {"value": "4Gi"}, "cores": {"value": "500m"}},
        "allowMultipleAllocations": True,
    },
    observed_cluster.Device,
)
OWN, OTHER = f"device.attributes['{DRIVER}']", "device.attributes['other.example']"
MEMORY = f"device.capacity['{DRIVER}'].memory"
CORES = f"device.capacity['{DRIVER}'].cores"


WORDS = {"OWN": OWN, "OTHER": OTHER, "MEMORY": MEMORY, "CORES": CORES, "DRIVER": DRIVER}
ANSWERS = [columns for _, columns in text_tables.rows(__file__, "selector_answers.txt")]


@pytest.mark.parametrize(("expression", "expected"), ANSWERS)
def test_what_selectors_say(expression: str, expected: str) -> None:
    for word, text in WORDS.items():
        expression = expression.replace(word, text)
    assert cel_selectors.selector(expression).matches(DRIVER, DEVICE) is json.loads(expected)


@pytest.mark.parametrize(
    "expression",
    [
        "ip('1.1.1.1').family() == 4",
        "no such expression",
        f"{OWN}.model",
        f"{OWN}.parts > 'a'",
        f"{CORES}.asInteger() == 0",
        "quantity('much').sign() == 1",
    ],
)
def test_what_is_not_known_has_no_answer(expression: str) -> None:
    assert cel_selectors.selector(expression).matches(DRIVER, DEVICE) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": {"a": {"version": "none"}}},
        {"attributes": {"a": {"strange": 1}}},
        {"capacity": {"a": {"value": "much"}}},
    ],
)
def test_a_device_that_cannot_be_read_has_no_answer(fields: object) -> None:
    device = msgspec.convert({"name": "x", **fields}, observed_cluster.Device)  # type: ignore[dict-item]
    assert cel_selectors.selector("true").matches(DRIVER, device) is None


ORDER = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"]
ORDER += ["1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.10", "1.2.0", "2.0.0"]


def test_versions_are_ordered_as_semver_says() -> None:
    parsed = [cel_selectors.version(text) for text in ORDER]
    for one, left in enumerate(parsed):
        for two, right in enumerate(parsed):
            assert cel_selectors.compare_versions(left, right) == (one > two) - (one < two)


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "v1.2.3", "1.2.3 "]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(cel_selectors.VersionError):
        cel_selectors.version(text)


@pytest.mark.parametrize(
    ("expression", "fails"),
    [
        (f"{OWN}.modle == 'a'", True),
        ("device.attributes['none.example'].parts == 1", True),
        (f"device.capacity['{DRIVER}'].disk == quantity('1')", True),
        (f"{OWN}.model > 3", True),
        (f"{OWN}.parts == 3", False),
        ("not CEL at all (", False),
    ],
)
def test_an_expression_fails_on_a_device(expression: str, fails: bool) -> None:
    assert cel_selectors.selector(expression).fails(DRIVER, DEVICE) is fails
