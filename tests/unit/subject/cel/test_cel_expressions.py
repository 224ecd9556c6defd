"""CEL selectors against the answers that upstream documents, from a table."""

import concurrent.futures
import pathlib
from collections.abc import Iterator

import pytest

from harness.subject.cel import selectors as cel_selectors

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
        selector = cel_selectors.Selector(text)
    except cel_selectors.SelectorError as error:
        return f"compile error: {error}"
    try:
        return str(selector.matches(DRIVER, DEVICE)).lower()
    except cel_selectors.SelectorError as error:
        return f"error: {error}"


def is_documented(found: str, documented: str) -> bool:
    kind, _, words = documented.partition(": ")
    is_kind = found == documented if not words else found.startswith(f"{kind}: ")
    return is_kind and words in found


def test_each_answer_is_the_documented_one() -> None:
    answers = {text: (answer_to(text), documented) for text, documented in rows()}
    assert len(answers) == len([*rows()]) >= CASES_MIN
    assert {text: pair for text, pair in answers.items() if not is_documented(*pair)} == {}


def test_threads_share_a_selector() -> None:
    known = "device.attributes['dra.example.com']"
    selector = cel_selectors.Selector(f"{known}.ints.all(x, x > {known}.least)")
    documents = [
        {"name": "a", "attributes": {"ints": {"ints": [1, 2, 3]}, "least": {"int": index % 2}}}
        for index in range(2000)
    ]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda device: selector.matches(DRIVER, device), documents))
    assert answers == [index % 2 == 0 for index in range(2000)]


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
    with pytest.raises(cel_selectors.SelectorError, match=words):
        cel_selectors.Selector("true").matches(DRIVER, device)


@pytest.mark.parametrize(
    "text", ["", "device.", "device.driver ==", "unknown == 1", "device.driver + 1 == 2"]
)
def test_a_selector_that_does_not_compile_is_named(text: str) -> None:
    with pytest.raises(cel_selectors.SelectorError, match=r"CEL selector .* does not compile"):
        cel_selectors.Selector(text)


def test_a_selector_has_its_limit_and_is_compiled_once() -> None:
    limit = cel_selectors.EXPRESSION_CHARACTERS_MAX
    with pytest.raises(cel_selectors.SelectorError, match=f"at most {limit} characters"):
        cel_selectors.Selector("true" + " " * limit)
    assert cel_selectors.compiled("1 == 1") is cel_selectors.compiled("1 == 1")
