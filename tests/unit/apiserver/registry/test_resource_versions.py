"""One integer counts all commits; who writes against an old version is refused; what changes
nothing is no commit.
"""

from typing import Any

import pytest

from harness.apiserver.registry import preconditions
from harness.apiserver.scheme import resources

R = resources


def config(name: str = "one", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def test_one_integer_counts_the_commits_of_every_resource(store: Any) -> None:
    before = store.resource_version
    made = [
        store.create(R.CONFIGMAPS, "default", config()),
        store.create(R.NODES, "", {"metadata": {"name": "node"}}),
        store.create(R.LEASES, "default", {"metadata": {"name": "lease"}, "spec": {}}),
        store.update(R.CONFIGMAPS, "default", "one", config(a="b")),
        store.delete(R.NODES, "", "node")[0],
    ]
    assert [stored.resource_version for stored in made] == [before + n for n in range(1, 6)]
    assert store.resource_version == before + 5


@pytest.mark.parametrize("version", ["", "0", None])
def test_a_write_without_a_version_is_unconditional(store: Any, version: str | None) -> None:
    store.create(R.CONFIGMAPS, "default", config())
    document = config(a="1")
    document["metadata"]["resourceVersion"] = version
    assert store.update(R.CONFIGMAPS, "default", "one", document).document()["data"] == {"a": "1"}


def test_a_write_that_changes_nothing_is_no_commit(store: Any) -> None:
    seen: list[Any] = []
    stored = store.create(R.CONFIGMAPS, "default", config(a="1"))
    store.listen(seen.append)
    assert store.update(R.CONFIGMAPS, "default", "one", stored.document()) == stored
    assert store.patch(R.CONFIGMAPS, "default", "one", lambda old: old) == stored
    assert store.resource_version == stored.resource_version
    assert seen == []


def test_a_write_for_an_earlier_object_of_the_name_is_refused(store: Any, refuses: Any) -> None:
    old = store.create(R.CONFIGMAPS, "default", config())
    store.delete(R.CONFIGMAPS, "default", "one")
    new = store.create(R.CONFIGMAPS, "default", config())
    assert new.uid != old.uid
    document = config(a="1")
    document["metadata"]["uid"] = old.uid
    with refuses(409, "Conflict", f"expected the uid {old.uid}"):
        store.update(R.CONFIGMAPS, "default", "one", document)
    with refuses(422, "Invalid", f'metadata.uid: Invalid value: "{old.uid}": field is immutable'):
        store.patch(R.CONFIGMAPS, "default", "one", lambda _: document)


# ---------------------------------------------------------------- creation


@pytest.mark.parametrize(
    ("namespace", "meta", "code", "text"),
    [
        ("default", {"name": "a", "resourceVersion": "1"}, 500, "should not be set"),
        ("default", {"name": "a", "namespace": "other"}, 400, "does not match the namespace"),
        ("default", {}, 422, "name or generateName is required"),
        ("default", {"name": "A_b"}, 422, "RFC 1123"),
        ("default", {"name": "a" * 254}, 422, "no more than 253"),
        ("nowhere", {"name": "a"}, 404, 'namespaces "nowhere" not found'),
        (
            "default",
            {"name": "a", "ownerReferences": [{"kind": "Pod"}]},
            422,
            "ownerReferences.uid",
        ),
    ],
)
def test_what_cannot_be_created(
    store: Any, refuses: Any, namespace: str, meta: dict[str, Any], code: int, text: str
) -> None:
    version = store.resource_version
    with refuses(code, None, text):
        store.create(R.CONFIGMAPS, namespace, {"metadata": meta})
    assert store.resource_version == version


def test_generated_names_are_the_base_and_five_characters(store: Any) -> None:
    names = {
        store.create(R.CONFIGMAPS, "default", {"metadata": {"generateName": "claim-"}}).name
        for _ in range(50)
    }
    assert len(names) == 50
    for name in names:
        assert name.startswith("claim-")
        assert len(name) == len("claim-") + 5
        assert set(name.removeprefix("claim-")) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_a_generated_name_that_is_taken_is_drawn_again(
    store: Any, refuses: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["taken", "taken", "free", *["taken"] * 100])
    monkeypatch.setattr(preconditions, "generated", lambda base, stream: next(drawn))
    for expected in ("taken", "free"):
        made = store.create(R.CONFIGMAPS, "default", {"metadata": {"generateName": "b"}})
        assert made.name == expected
    with refuses(409, "AlreadyExists"):
        store.create(R.CONFIGMAPS, "default", {"metadata": {"generateName": "b"}})


# ---------------------------------------------------------------- updates


def test_an_update_creates_what_some_kinds_miss(live: Any) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"metadata": {"name": "a", "resourceVersion": "7"}, "spec": {"holderIdentity": "me"}}
    assert live.call("PUT", f"{leases}/a?dryRun=All", lease)[0] == 201
    assert live.call("GET", f"{leases}/a")[0] == 404
    status, made = live.call("PUT", f"{leases}/a", lease)
    assert (status, made["spec"]["holderIdentity"]) == (201, "me")
    assert live.call("PUT", f"{leases}/a", made)[0] == 200
    assert live.call("PUT", f"{leases}/b", made)[0] == 400, "another name"
    foreign = {"metadata": {"name": "b", "uid": "u"}}
    status, refused = live.call("PUT", f"{leases}/b", foreign)
    assert (status, refused["reason"]) == (409, "Conflict")
    status, _ = live.call(
        "PUT", "/api/v1/namespaces/default/configmaps/a", {"metadata": {"name": "a"}}
    )
    assert status == 404, "config maps are created by a POST only"
