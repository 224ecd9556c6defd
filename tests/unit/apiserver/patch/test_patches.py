"""JSON patch, merge patch, strategic merge patch."""

from typing import Any

import pytest

from harness.apiserver.patch import strategic_merge
from harness.apiserver.scheme import api_types, resources
from tests.support import cases

R = resources


def strategic(resource: resources.ResourceType, document: Any, patch: Any) -> Any:
    return strategic_merge.patch(api_types.of(resource), document, patch)


@pytest.mark.parametrize(
    ("resource", "document", "patch", "expected"), cases.read(__file__, "strategic")
)
def test_strategic_patch(resource: str, document: Any, patch: Any, expected: Any) -> None:
    found = getattr(R, resource.upper())
    assert strategic(found, document, patch) == expected


def test_items_without_their_key_are_refused(refuses: Any) -> None:
    with refuses(500, "", "merge key: uid"):
        old = {"status": {"reservedFor": [{"uid": "u"}]}}
        strategic(R.CLAIMS, old, {"status": {"reservedFor": [{"name": "a"}]}})


def test_a_list_that_was_not_there_is_taken_as_it_is_but_for_directives() -> None:
    reserved = [{"name": "a"}, {"uid": "u", "$patch": "delete"}]
    patched = strategic(R.CLAIMS, {}, {"status": {"reservedFor": reserved}})
    assert patched == {"status": {"reservedFor": [{"name": "a"}]}}


def test_directives_that_make_no_sense_are_refused(refuses: Any) -> None:
    with refuses(500, "", "unknown patch type: nonsense"):
        strategic(R.CONFIGMAPS, {}, {"data": {"$patch": "nonsense"}})
    order = {"$setElementOrder/finalizers": ["b"], "finalizers": ["a"]}
    with refuses(500, "", "does not match its $setElementOrder"):
        strategic(R.CONFIGMAPS, {}, {"metadata": order})


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ("ab", {"finalizers": ["c"]}, "cab"),
        ("ab", {"finalizers": ["b", "c"]}, "abc"),
        ("abc", {"finalizers": ["b"]}, "abc"),
        ("abc", {"$setElementOrder/finalizers": ["c", "a"]}, "bca"),
        ("abc", {"$setElementOrder/finalizers": ["c", "d", "a"], "finalizers": ["d"]}, "bcda"),
    ],
)
def test_the_order_of_lists_that_merge(before: str, patch: Any, after: str) -> None:
    document = {"metadata": {"finalizers": list(before)}}
    made = strategic(R.CONFIGMAPS, document, {"metadata": patch})
    assert "".join(made["metadata"]["finalizers"]) == after
