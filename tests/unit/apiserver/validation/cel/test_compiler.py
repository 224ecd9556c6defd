"""CEL selectors: compilation, error messages, cost limit."""

from collections.abc import Iterator

import pytest

from harness.apiserver.scheme import feature_gates
from harness.apiserver.validation.cel import cel_selectors, compiler
from harness.cel import declarations, syntax_trees
from tests.support import cases

GOOD = [
    "true",
    'device.driver == "gpu.example.com"',
    'device.attributes["gpu.example.com"].model == "a"',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.0.0"))',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("1Gi")) >= 0',
    'device.capacity["gpu.example.com"].?memory.hasValue()',
    '"gpu.example.com" in device.attributes',
    'has(device.attributes["gpu.example.com"].model)',
    "has(device.driver)",
    "device.allowMultipleAllocations == true",
    'cel.bind(d, device.attributes["gpu.example.com"], d.model == "a" && d.index < 4)',
    'cel.bind(d, device, d.driver == "x")',
    'device.attributes["d"].model.lowerAscii().matches("^a.*")',
    'device.attributes["d"].name.split(",").exists(part, part == "x")',
    "[1, 2, 3].sum() > 5 && sets.contains([1, 2], [1])",
    'ip.isCanonical("10.0.0.1") && cidr("10.0.0.0/8").containsIP("10.0.0.1")',
    'cidr("10.0.0.0/8").ip() == ip("10.0.0.0")',
    'device.attributes["d"].flag',
    '!format.dns1123Subdomain().validate(device.attributes["d"].name).hasValue()',
]


@pytest.mark.parametrize("text", GOOD)
def test_what_compiles(text: str) -> None:
    assert compiler.compiled(text) == compiler.Compiled()


@pytest.mark.parametrize(("text", "problem"), cases.read(__file__, "bad"))
def test_what_does_not(text: str, problem: str) -> None:
    assert compiler.compiled(text).problem == problem


def test_types_are_checked() -> None:
    problem = compiler.compiled("device.driver == 1").problem
    assert "found no matching overload for '_==_' applied to '(string, int)'" in problem


def nested(depth: int, inner: str) -> str:
    """`[0, … 9].all(v0, [0, … 9].all(v1, …))`."""
    for level in range(depth):
        inner = f"{list(range(10))}.all(v{level}, {inner})"
    return inner


@pytest.mark.parametrize(("depth", "too_complex"), [(1, False), (3, False), (5, True)])
def test_nested_loops_multiply(depth: int, too_complex: bool) -> None:
    text = nested(depth, 'device.driver.contains("x")')
    assert compiler.compiled(text) == compiler.Compiled(too_complex=too_complex)


def cost(text: str) -> int:
    environment = declarations.environment(with_lists=False)
    return compiler.max_cost(syntax_trees.decode(environment.compile(text).serialize()))


ATTRIBUTES = 'device.attributes["dra.example.com"]'
CAPACITY = 'device.capacity["dra.example.com"]'
COSTS = [
    ("true", 0),
    ('device.driver == ""', 2),
    ('device.driver == "dra.example.com"', 4),
    ("device.allowMultipleAllocations == true", 3),
    ('"no-such-domain" in device.attributes', 3),
    (f"{ATTRIBUTES}.name", 4),
    (f'{ATTRIBUTES}["name"]', 4),
    (f"cel.bind(dra, {ATTRIBUTES}, dra.name)", 15),
    (f"{ATTRIBUTES}.name > 0", 5),
    (f"{ATTRIBUTES}.names.size() == 2", 6),
    (f"1 in {ATTRIBUTES}.names", 4 + 64),
    (f'{ATTRIBUTES}.name.isGreaterThan(semver("v0.0.1", true)) && isSemver("v1.0.0", true)', 7),
    (f'{CAPACITY}.name.isGreaterThan(quantity("1Ki"))', 6),
    (f'"name" in {CAPACITY} && {CAPACITY}.name.isGreaterThan(quantity("1Ki"))', 10),
    (f'!("name" in {CAPACITY}) || {CAPACITY}.name.isGreaterThan(quantity("1Ki"))', 11),
    ('device.attributes.exists_one(x, x == "dra.example.com")', 164),
    (f'{CAPACITY}.exists_one(x, x == "memory")', 133),
    (f'{ATTRIBUTES}.names.all(x, x != "")', 5 + 4 * 64),
    (f'{ATTRIBUTES}.names.exists(x, x.isGreaterThan(semver("0.0.1")))', 5 + 7 * 64),
    (f'{ATTRIBUTES}.services.split("example").size() >= 2', 19),
    (f'{ATTRIBUTES}.services.matches("[^a]?sym")', 18),
    (nested(7, "int('1'.find('[0-9]*')) < 100"), 85_555_551),
]
"""Cases from Kubernetes' own tests of the DRA compiler."""


@pytest.mark.parametrize(("text", "expected"), COSTS, ids=[row[0][:60] for row in COSTS])
def test_costs(text: str, expected: int) -> None:
    assert cost(text) == expected


def test_macros_with_two_variables_cost_as_their_range() -> None:
    text = 'device.attributes["d"].names.all(i, v, i < 9 && v != "")'
    assert compiler.compiled(text) == compiler.Compiled()


def test_a_text_of_unknown_length_costs_without_bound() -> None:
    assert cost('dyn("x").find(dyn("a")) == ""') == compiler.UNBOUNDED


def test_an_expression_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler._compiled.cache_clear()
    reads = []
    decode = syntax_trees.decode
    monkeypatch.setattr(syntax_trees, "decode", lambda data: reads.append(1) or decode(data))
    selectors = [{"cel": {"expression": "1 == 1"}}] * 3
    assert list(cel_selectors.selector_list(selectors, "s")) == []
    assert len(reads) == 1


def test_stored_selectors_are_not_compiled() -> None:
    wrong = [{"cel": {"expression": "1"}}]
    assert list(cel_selectors.selector_list(wrong, "s", stored=True)) == []
    assert [cause.field for cause in cel_selectors.selector_list(wrong, "s")] == [
        "s[0].cel.expression"
    ]


def test_long_expressions_are_not_compiled() -> None:
    (cause,) = cel_selectors.selector_list([{"cel": {"expression": "é" * 5121}}], "s")
    assert cause.text() == "s[0].cel.expression: Too long: may not be more than 10240 bytes"


def test_compiling_is_imported_late() -> None:
    """CEL is slow to import, so a server without selectors never imports it."""
    import subprocess
    import sys

    code = "import sys, harness.apiserver.registry.store; print('cel_expr_python' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.fixture
def list_attributes() -> Iterator[None]:
    feature_gates.choose({feature_gates.LIST_ATTRIBUTES: True})
    yield
    feature_gates.reset()


INCLUDES = 'device.attributes["d"].models.includes("a")'


@pytest.mark.usefixtures("list_attributes")
def test_includes_is_known_with_list_attributes() -> None:
    assert compiler.compiled(INCLUDES) == compiler.Compiled()


def test_includes_is_unknown_without_list_attributes() -> None:
    assert "undeclared reference to 'includes'" in compiler.compiled(INCLUDES).problem
