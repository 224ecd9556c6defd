"""JSON patches: what they may cost, and that they do what another implementation does."""

import copy
import json
from typing import Any

import hypothesis
import jsonpatch
import pytest
from hypothesis import strategies as st

from harness.apiserver import json_codec
from harness.apiserver.patch import json_patches

COPY_LIMIT = json_patches.COPIED_BYTES_MAX


def doubling(times: int) -> list[dict[str, Any]]:
    """Each copy holds the ones before it."""
    return [{"op": "copy", "from": "/data", "path": f"/data/x{n}"} for n in range(times)]


def test_copies_that_double_are_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []
    decode = json_codec.decode
    monkeypatch.setattr(json_codec, "decode", lambda data: made.append(len(data)) or decode(data))
    document = {"data": {"a": "x" * 100}}
    with pytest.raises(json_patches.InapplicableError, match="more than 3145728 bytes"):
        json_patches.apply(document, doubling(24))
    assert sum(made) <= 2 * COPY_LIMIT
    assert document == {"data": {"a": "x" * 100}}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "remove", "path": "/-1"}, [1, 2]),
        ({"op": "remove", "path": "/-3"}, [2, 3]),
        ({"op": "replace", "path": "/-1", "value": 9}, [1, 2, 9]),
        ({"op": "add", "path": "/-1", "value": 9}, [1, 2, 3, 9]),
        ({"op": "remove", "path": "/-4"}, None),
        ({"op": "remove", "path": "/" + "9" * 5000}, None),
    ],
)
def test_negative_places_count_from_the_end_as_in_kubernetes(operation: Any, expected: Any) -> None:
    if expected is None:
        with pytest.raises(json_patches.InapplicableError):
            json_patches.apply([1, 2, 3], [operation])
    else:
        assert json_patches.apply([1, 2, 3], [operation]) == expected


@pytest.mark.parametrize(
    ("document", "wanted", "is_same"), [(1, True, False), (0, False, False), (1, 1.0, True)]
)
def test_numbers_are_no_booleans(document: Any, wanted: Any, is_same: bool) -> None:
    operation = {"op": "test", "path": "/a/0", "value": wanted}
    if is_same:
        json_patches.apply({"a": [document]}, [operation])
    else:
        with pytest.raises(json_patches.InapplicableError, match="testing value /a/0 failed"):
            json_patches.apply({"a": [document]}, [operation])


KEYS = st.sampled_from(["a", "b", "a/b", "~", "0", "-", ""])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.just("x")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
POINTERS = st.lists(
    st.sampled_from(["a", "b", "a~1b", "~0", "0", "1", "2", "-", ""]), max_size=3
).map(lambda parts: "".join(f"/{part}" for part in parts))
OPERATIONS = st.one_of(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "replace", "test"]), "path": POINTERS, "value": VALUES}
    ),
    st.fixed_dictionaries({"op": st.just("remove"), "path": POINTERS}),
    st.fixed_dictionaries(
        {"op": st.sampled_from(["move", "copy"]), "from": POINTERS, "path": POINTERS}
    ),
    st.fixed_dictionaries({"op": st.sampled_from(["add", "copy", "shake"]), "path": POINTERS}),
)


@hypothesis.given(document=VALUES, patch=st.lists(OPERATIONS, max_size=4))
@hypothesis.settings(max_examples=300, deadline=None)
def test_another_implementation_agrees(document: Any, patch: list[dict[str, Any]]) -> None:
    hypothesis.assume(not any(item["op"] == "test" and item.get("value") is None for item in patch))
    before = copy.deepcopy(document)
    theirs = outcome(lambda: jsonpatch.JsonPatch(patch).apply(document))
    ours = outcome(lambda: json_patches.apply(document, copy.deepcopy(patch)))
    assert ours == theirs
    assert document == before


def outcome(apply: Any) -> str:
    try:
        return json.dumps(apply(), sort_keys=True)
    except (
        json_patches.InapplicableError,
        jsonpatch.JsonPatchException,
        jsonpatch.JsonPointerException,
        KeyError,
        TypeError,
        IndexError,
        ValueError,
    ):
        return "refused"
