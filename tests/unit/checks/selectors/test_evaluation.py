"""The judge's own evaluator: what selectors of devices say, and what it does not know."""

import msgspec
import pytest

from harness.checks.observed import observed_slices
from harness.checks.selectors import evaluation, semantic_versions

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
    observed_slices.Device,
)
OWN, OTHER = f"device.attributes['{DRIVER}']", "device.attributes['other.example']"
MEMORY = f"device.capacity['{DRIVER}'].memory"
CORES = f"device.capacity['{DRIVER}'].cores"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", True),
        (f"device.driver == '{DRIVER}'", True),
        (f"{OWN}.parts == 2", True),
        (f"{OWN}.parts > 2", False),
        (f"{OWN}.parts in [1, 2]", True),
        (f"{OWN}.model.startsWith('a-')", True),
        (f"{OWN}.model.matches('^a-[0-9]+$')", True),
        (f"{OWN}.model.lowerAscii() == 'A-100'.lowerAscii()", True),
        (f"{OWN}.ready && !{OWN}.ready", False),
        (f"cel.bind(own, {OWN}, own.ready && own.parts == 2)", True),
        ("device.allowMultipleAllocations", True),
        # Missing domains and attributes.
        (f"{OWN}.none == 1", False),
        (f"has({OWN}.none)", False),
        ("has(device.attributes['none.example'].none)", False),
        ("has(device.attributes.none)", True),
        ("has(device.capacity.none)", True),
        ("has(device.attributes.none.any)", False),
        ("'none.example' in device.attributes", False),
        (f"'{DRIVER}' in device.attributes", True),
        (f"{OWN}.?none.orValue(3) == 3", True),
        # Quantities.
        (f"{MEMORY} == quantity('4096Mi')", True),
        (f"{MEMORY}.compareTo(quantity('4Gi')) == 0", True),
        (f"{MEMORY}.isGreaterThan(quantity('4G'))", True),
        (f"{MEMORY}.isLessThan(quantity('4G'))", False),
        (f"{MEMORY}.sub(quantity('3Gi')).add(1).asInteger() == 1073741825", True),
        (f"{MEMORY}.sub(quantity('5Gi')).sign() == -1", True),
        (f"{MEMORY}.sub(1).add(quantity('1')) == {MEMORY}", True),
        (f"{CORES}.isInteger()", False),
        (f"{CORES}.asApproximateFloat() == 0.5", True),
        (f"{MEMORY}.isGreaterThan({MEMORY}) || {MEMORY}.isLessThan({MEMORY})", False),
        (f"{MEMORY}.compareTo(quantity('5Gi')) == -1", True),
        (f"{MEMORY}.compareTo(quantity('3Gi')) == 1", True),
        (f"{MEMORY}.sub({MEMORY}).sign() == 0", True),
        (f"{CORES}.sign() == 1 && quantity('-500m').sign() == -1", True),
        ("quantity('9223372036854775807').isInteger()", True),
        ("quantity('9223372036854775807').add(1).isInteger()", False),
        ("quantity('-9223372036854775808').isInteger()", True),
        ("quantity('-9223372036854775808').sub(1).isInteger()", False),
        ("isQuantity('1Zi')", False),
        ("isQuantity('1Gi')", True),
        # Versions.
        (f"{OWN}.firmware == semver('1.2.3-rc.1')", True),
        (f"{OWN}.firmware.isLessThan(semver('1.2.3'))", True),
        (f"{OWN}.firmware.isGreaterThan(semver('1.2.3-rc.0'))", True),
        (f"{OWN}.firmware.compareTo(semver('1.2.4')) == -1", True),
        (f"{OWN}.firmware.major() == 1 && {OWN}.firmware.minor() == 2", True),
        (f"{OWN}.firmware.patch() == 3", True),
        ("isSemver('1.2')", False),
        ("isSemver('v1.2', true)", True),
        ("semver('v01.2', true) == semver('1.2.0')", True),
        ("semver('v1.2.3', true) == semver('1.2.3')", True),
        # Lists.
        (f"{OTHER}.models.includes('b')", True),
        (f"{OTHER}.models.includes('c')", False),
        (f"{OTHER}.sizes.includes(2)", True),
        (f"{OWN}.model.includes('a-100')", True),
        (f"{OTHER}.models.exists(item, item == 'b')", True),
        ("sets.contains(['a', 'b'], ['b'])", True),
        ("sets.contains(['a', 'b'], ['b', 'c'])", False),
        ("sets.intersects(['a'], ['b'])", False),
        ("sets.intersects(['a', 'b'], ['b', 'c'])", True),
        ("sets.equivalent(['a', 'b'], ['b', 'a', 'a'])", True),
        ("sets.equivalent(['a', 'b'], ['a'])", False),
    ],
)
def test_what_selectors_say(expression: str, expected: bool) -> None:
    assert evaluation.selector(expression).matches(DRIVER, DEVICE) is expected


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
    assert evaluation.selector(expression).matches(DRIVER, DEVICE) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"attributes": {"a": {"version": "none"}}},
        {"attributes": {"a": {"strange": 1}}},
        {"capacity": {"a": {"value": "much"}}},
    ],
)
def test_a_device_that_cannot_be_read_has_no_answer(fields: object) -> None:
    device = msgspec.convert({"name": "x", **fields}, observed_slices.Device)  # type: ignore[dict-item]
    assert evaluation.selector("true").matches(DRIVER, device) is None


ORDER = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"]
ORDER += ["1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.10", "1.2.0", "2.0.0"]


def test_versions_are_ordered_as_semver_says() -> None:
    parsed = [semantic_versions.parse(text) for text in ORDER]
    for one, left in enumerate(parsed):
        for two, right in enumerate(parsed):
            assert semantic_versions.compare(left, right) == (one > two) - (one < two)


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "v1.2.3", "1.2.3 "]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(semantic_versions.VersionError):
        semantic_versions.parse(text)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        (f"{OWN}.modle == 'a'", "no such key: modle"),
        ("device.attributes['none.example'].parts == 1", "no such key: parts"),
        (f"device.capacity['{DRIVER}'].disk == quantity('1')", "no such key: disk"),
        (f"{OWN}.model > 3", "No matching overloads found : _>_(string, int64)"),
        (f"{OWN}.parts == 3", ""),
        ("not CEL at all (", ""),
    ],
)
def test_an_expression_that_fails_says_why(expression: str, error: str) -> None:
    assert evaluation.selector(expression).failure(DRIVER, DEVICE) == error
