"""JSON patch, strategic merge patch."""

from typing import Any

import pytest

from harness.apiserver import patches
from harness.apiserver.scheme import resources
from tests.support import cases

R = resources


def test_many_operations_and_copies_that_double_are_stopped(refuses: Any) -> None:
    with refuses(413, "RequestEntityTooLarge"):
        patches.json_patch(R.CONFIGMAPS, {}, [{"op": "remove", "path": "/a"}] * 5001)
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/x{n}"} for n in range(24)]
    with refuses(422, "Invalid", "more than 3145728 bytes"):
        patches.json_patch(R.CONFIGMAPS, {"data": {"a": "x" * 100}}, doubling)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "shake", "path": "/a"},
        {"op": "copy", "path": "/a"},
        {"op": "add", "path": "/a"},
        {"op": "remove", "path": ""},
        {"op": "move", "from": "/a", "path": "/a/b"},
        {"op": "replace", "path": "/a/1", "value": 1},
        {"op": 1, "path": 2},
        {"op": "test", "path": "/a/0", "value": 9},
    ],
)
def test_operations_that_fail_are_refused(operation: Any, refuses: Any) -> None:
    with refuses(422, "Invalid", "the patch fails"):
        patches.json_patch(R.CONFIGMAPS, {"a": [1]}, [operation])


def strategic(resource: resources.ResourceType, document: Any, patch: Any) -> Any:
    patched = patches.strategic_patch(resource, document, patch)
    return {key: value for key, value in patched.items() if key not in ("apiVersion", "kind")}


@pytest.mark.parametrize(
    ("resource", "document", "patch", "expected"), cases.read(__file__, "strategic")
)
def test_strategic_patch(resource: str, document: Any, patch: Any, expected: Any) -> None:
    found = getattr(R, resource.upper())
    assert strategic(found, document, patch) == expected


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
