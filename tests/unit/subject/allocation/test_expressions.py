"""Selectors in CEL, as DRA defines them."""

from typing import Any

import pytest

from harness.subject.allocation import expressions

DRIVER = "gpu.example.com"
DEVICE = {
    "name": "a",
    "attributes": {
        "kind": {"string": "big"},
        "index": {"int": 7},
        "ecc": {"bool": True},
        "driverVersion": {"version": "1.2.3"},
        "other.com/kind": {"string": "strange"},
    },
    "capacity": {"memory": {"value": "40Gi"}, "other.com/bandwidth": {"value": "1500m"}},
}
MINE, OTHER = f'["{DRIVER}"]', '["other.com"]'


def matches(text: str, device: dict[str, Any] = DEVICE) -> bool:
    return expressions.Selector(text).matches(DRIVER, device)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("false", False),
        (f'device.driver == "{DRIVER}"', True),
        ('device.driver == "other"', False),
        (f'device.attributes{MINE}.kind == "big"', True),
        (f"device.attributes['{DRIVER}'].index > 6", True),
        (f"device.attributes{MINE}.index == 8", False),
        (f"device.attributes{MINE}.ecc", True),
        (f'device.attributes{MINE}.driverVersion == semver("1.2.3")', True),
        (f'device.attributes{MINE}.driverVersion == "1.2.3"', False),
        (f'device.attributes{OTHER}.kind == "strange"', True),
        ('device.attributes[device.driver].kind == "big"', True),
        (f'"kind" in device.attributes{MINE}', True),
        (f'"nothing" in device.attributes{MINE}', False),
        (f"has(device.attributes{MINE}.nothing)", False),
        ('device.attributes[?"unknown.com"].?x.orValue(1) == 1', True),
        (f'device.attributes{MINE}.kind.startsWith("b") && device.driver.matches("^gpu")', True),
        (f"cel.bind(mine, device.attributes{MINE}, mine.index == 7 && mine.ecc)", True),
    ],
)
def test_driver_and_attributes(text: str, expected: bool) -> None:
    assert matches(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        '"kind" in device.attributes["unknown.com"]',
        'has(device.attributes["unknown.com"].kind)',
        "'kind' in device.attributes['unknown.com']",
        '"memory" in device.capacity["unknown.com"]',
    ],
)
def test_an_unknown_domain_is_empty(text: str) -> None:
    assert matches(text) is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'device.capacity{MINE}.memory.compareTo(quantity("40Gi")) == 0', True),
        (f'device.capacity{MINE}.memory.compareTo(quantity("41Gi")) < 0', True),
        (f'device.capacity{MINE}.memory.compareTo(quantity("40G")) > 0', True),
        (f'device.capacity{MINE}.memory.isGreaterThan(quantity("39.5Gi"))', True),
        (f'device.capacity{MINE}.memory.isLessThan(quantity("40Gi"))', False),
        (f'device.capacity{OTHER}.bandwidth == quantity("1.5")', True),
    ],
)
def test_capacities_are_quantities(text: str, expected: bool) -> None:
    assert matches(text) is expected


@pytest.mark.parametrize(
    "text", ["", "device.", "device.driver ==", "unknown == 1", "device.driver + 1 == 2"]
)
def test_a_selector_that_does_not_compile_is_named(text: str) -> None:
    with pytest.raises(expressions.SelectorError, match="CEL selector"):
        matches(text)


@pytest.mark.parametrize(
    "text",
    [
        f"device.attributes{MINE}.nothing == 1",
        'device.attributes["unknown.com"].kind == "x"',
        f'device.capacity{MINE}.memory.isGreaterThan(quantity("much"))',
        f"device.attributes{MINE}.index",
        "device.driver",
    ],
)
def test_a_selector_that_cannot_tell_is_an_error(text: str) -> None:
    with pytest.raises(expressions.SelectorError):
        matches(text)


def test_a_selector_of_a_device_with_nothing() -> None:
    assert not matches(f'"kind" in device.attributes{MINE}', {"name": "a"})


def test_a_selector_has_its_limit() -> None:
    limit = expressions.EXPRESSION_CHARACTERS_MAX
    with pytest.raises(expressions.SelectorError, match=f"at most {limit} characters"):
        expressions.Selector("true" + " " * limit)


def test_a_selector_is_compiled_once() -> None:
    assert expressions.compiled("1 == 1") is expressions.compiled("1 == 1")
