"""JSON patch, merge patch, strategic merge patch."""

import copy
from typing import Any

import pytest

from harness.apiserver.patch import json_patches, strategic_merge
from harness.apiserver.scheme import api_types, resources
from tests.support import cases

R = resources


def strategic(resource: resources.ResourceType, document: Any, patch: Any) -> Any:
    return strategic_merge.patch(api_types.of(resource), document, patch)


@pytest.mark.parametrize(
    ("code", "patch"),
    [(422, [{"op": "test", "path": "/a/b", "value": 2}]), (422, [{"path": "/a"}]), (400, {})],
)
def test_json_patches_that_do_not_fit(refuses: Any, code: int, patch: Any) -> None:
    with refuses(code):
        json_patches.json_patch(R.PODS, {"a": {"b": 1}}, patch)


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [  # RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(document: Any, patch: Any, expected: Any) -> None:
    before = copy.deepcopy(document)
    assert json_patches.merge_patch(R.PODS, document, patch) == expected
    assert document == before


@pytest.mark.parametrize("patch", [[], "text", 1, None])
def test_what_is_no_object_is_no_merge_patch(refuses: Any, patch: Any) -> None:
    with refuses(400, "BadRequest", "expected a JSON object"):
        json_patches.merge_patch(R.PODS, {}, patch)
    with refuses(400, "BadRequest", "expected a JSON object"):
        json_patches.strategic_patch(R.PODS, {}, patch)


def user(uid: str, **more: str) -> dict[str, str]:
    return {"uid": uid, **more}


RESERVED = [user("a", name="one"), user("b", name="two")]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([user("c")], [user("c"), *RESERVED]),
        ([user("a", name="new")], [user("a", name="new"), RESERVED[1]]),
        ([user("a", extra="x")], [user("a", name="one", extra="x"), RESERVED[1]]),
        ([{"$patch": "delete", **user("a")}], [RESERVED[1]]),
        ([{"$patch": "delete", **user("nobody")}], RESERVED),
        ([{"$patch": "delete", **user("b")}, user("c")], [user("c"), RESERVED[0]]),
        ([{"$patch": "replace"}, user("c")], [user("c")]),
        ([], RESERVED),
    ],
)
def test_strategic_patches_of_reservations_merge_by_uid(patch: Any, expected: Any) -> None:
    document = {"status": {"reservedFor": RESERVED, "allocation": {}}}
    before = copy.deepcopy(document)
    result = strategic(R.CLAIMS, document, {"status": {"reservedFor": patch}})
    assert result == {"status": {"reservedFor": expected, "allocation": {}}}
    assert document == before


def test_results_of_an_allocation_are_one_value() -> None:
    def status(*devices: str) -> Any:
        return {
            "status": {"allocation": {"devices": {"results": [{"device": d} for d in devices]}}}
        }

    assert strategic(R.CLAIMS, status("a", "b"), status("c")) == status("c")


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
