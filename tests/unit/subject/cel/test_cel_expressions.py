"""CEL selectors against the answers that upstream documents, from a table."""

import concurrent.futures
import pathlib
from collections.abc import Iterator

import pytest

from harness.subject.allocation import expressions

DRIVER = "dra.example.com"
DEVICE = {
    "name": "a",
    "attributes": {
        "bool": {"bool": True},
        "int": {"int": 1},
        "string": {"string": "fish"},
        "version": {"version": "1.0.0"},
        "services": {"string": "some_example_value"},
        "text": {"string": "asymetric"},
        "bools": {"bools": [True, False]},
        "ints": {"ints": [1, 2]},
        "strings": {"strings": ["fish", "bird"]},
        "versions": {"versions": ["1.0.0", "2.0.0"]},
        "many": {"strings": [f"value-{index}" for index in range(49)]},
        "other.example.com/name": {"bool": True},
    },
    "capacity": {"quantity": {"value": "1Mi"}},
}
TABLE = pathlib.Path(__file__).with_name("cel_expressions.txt")
CASES_MIN = 200


def rows() -> Iterator[tuple[str, str]]:
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            text, _, answer = line.rpartition(" => ")
            yield text, answer


def answer_to(text: str) -> str:
    """Return a selector's answer as the table writes it, with the whole message of an error."""
    try:
        selector = expressions.Selector(text)
    except expressions.SelectorError as error:
        return f"compile error: {error}"
    try:
        return str(selector.matches(DRIVER, DEVICE)).lower()
    except expressions.SelectorError as error:
        return f"error: {error}"


@pytest.mark.parametrize(("text", "documented"), list(rows()))
def test_an_answer_is_the_documented_one(text: str, documented: str) -> None:
    found, (kind, _, words) = answer_to(text), documented.partition(": ")
    assert found == documented if not words else found.startswith(f"{kind}: ")
    assert words in found


def test_the_table_is_large_and_has_no_row_twice() -> None:
    texts = [text for text, _ in rows()]
    assert len(texts) == len(set(texts))
    assert len(texts) >= CASES_MIN


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("isIP('10.0.0.1')", "isIP"),
        ("cidr('10.0.0.0/8').containsIP('10.0.0.1')", "cidr"),
        ("isURL('https://example.com')", "isURL"),
        ("format.uuid().validate('x').hasValue()", "format"),
        ("'abc'.find('b') == 'b'", "find"),
        ("[1, 2].indexOf(2) == 1", "indexOf"),
        ("[1, 2, 3].all(i, v, i < v)", "__pairs"),
    ],
)
def test_a_selector_with_a_function_that_is_not_known_is_refused(text: str, name: str) -> None:
    with pytest.raises(expressions.SelectorError, match=rf"cannot evaluate it: .*'{name}'"):
        expressions.Selector(text)


def test_threads_share_a_selector() -> None:
    selector = expressions.Selector(
        "device.attributes['dra.example.com'].ints.all(x, x > least)".replace(
            "least", "device.attributes['dra.example.com'].least"
        )
    )
    documents = [
        {"name": "a", "attributes": {"ints": {"ints": [1, 2, 3]}, "least": {"int": index % 2}}}
        for index in range(2000)
    ]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda device: selector.matches(DRIVER, device), documents))
    assert answers == [index % 2 == 0 for index in range(2000)]


def test_a_result_is_computed_once_for_a_document() -> None:
    results = expressions.Results()
    text = "device.attributes['dra.example.com'].int == 1"
    document = {"name": "a", "attributes": {"int": {"int": 1}}}
    assert results.matches(text, DRIVER, "pool", document)
    document["attributes"] = {}  # a document never changes: this shows that it is not read again
    assert results.matches(text, DRIVER, "pool", document)


def test_another_document_of_the_same_device_is_evaluated_again() -> None:
    results = expressions.Results()
    text = "device.attributes['dra.example.com'].int == 1"
    for value in (1, 2):
        document = {"name": "a", "attributes": {"int": {"int": value}}}
        assert results.matches(text, DRIVER, "pool", document) is (value == 1)


def test_an_error_is_a_result_too() -> None:
    results = expressions.Results()
    for _ in range(2):
        with pytest.raises(expressions.SelectorError, match="no such key: nothing"):
            results.matches("device.attributes['x'].nothing", DRIVER, "pool", DEVICE)


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ({"version": "1.x"}, "attribute bad: parse semantic version"),
        ({"color": "red"}, "attribute bad: unsupported attribute value"),
        ({}, "attribute bad: unsupported attribute value"),
    ],
)
def test_a_device_that_cannot_be_converted(attribute: dict[str, str], words: str) -> None:
    device = {"name": "a", "attributes": {"bad": attribute}}
    with pytest.raises(expressions.SelectorError, match=words):
        expressions.Selector("true").matches(DRIVER, device)


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("has(device.attributes.none)", True),
        ("has(device.capacity.none)", True),
        ("has(device.attributes.none.any)", False),
        ("'none' in device.attributes", False),
        ("'memory' in device.capacity[device.driver]", False),
        ("cel.bind(a, device.attributes, has(a.none))", True),
    ],
)
def test_a_missing_domain_is_an_empty_map_as_upstream(expression: str, answer: bool) -> None:
    selector = expressions.Selector(expression)
    assert selector.matches("dra.example.com", {"name": "d"}) is answer
