"""A claim that comes and goes between two lists of the informer, step by step."""

import types
from collections.abc import Callable
from typing import Any

import pytest

from harness.subject.claim_control import created_claims, generating, releasing
from harness.subject.objects import claims
from harness.subject.remedies import controller_remedies
from tests.support import api_objects

Object = dict[str, Any]
KEY = "default/p"


class Objects:
    """The store of an informer, which changes right after the next read, if told so."""

    def __init__(self, objects: dict[str, Object]) -> None:
        self.objects = objects
        self.after_read: Callable[[], None] = lambda: None

    def get(self, key: str) -> Object | None:
        found = self.objects.get(key)
        self.after_read()
        return found


class Controller:
    """A controller whose informer of claims knows no claim; it has created the pod's."""

    def __init__(self) -> None:
        self.pod = api_objects.known_pod("p", templates=["x"])
        self.claim = generating.ClaimGenerator().generated_claim(
            self.pod, self.pod["spec"]["resourceClaims"][0]["name"], api_objects.template("x")
        )
        self.claim["metadata"] |= {"name": "p-x-1", "namespace": "default", "resourceVersion": "10"}
        self.pods, self.created = Objects({KEY: self.pod}), created_claims.CreatedClaims()
        self.created.add(self.claim)
        self.after_record: Callable[[], None] = lambda: None
        context: Any = types.SimpleNamespace(
            api=types.SimpleNamespace(patch=self._record),
            pods=self.pods,
            claims=Objects({}),
            created=self.created,
        )
        self.syncer = controller_remedies.AwaitingPodSyncer(context, generating.ClaimGenerator())

    def _record(self, *_: object, **__: object) -> None:
        self.after_record()

    def lists_again(self) -> None:
        """The list is newer than the claim, which was deleted before it."""
        self.created.on_list_begin()
        self.created.on_list_end("12")

    def learns_of_the_record(self) -> bool:
        """The event of the pod's status comes. Return whether it enqueues the pod."""
        [entry] = self.pod["spec"]["resourceClaims"]
        recorded = {"name": entry["name"], "resourceClaimName": "p-x-1"}
        self.pods.objects[KEY] = self.pod | {"status": {"resourceClaimStatuses": [recorded]}}
        return self.syncer.needs_work(self.pods.objects[KEY])


def test_a_claim_is_awaited_until_the_informer_has_listed_again() -> None:
    controller = Controller()
    with pytest.raises(releasing.UnsettledError, match="default/p-x-1"):
        controller.syncer.sync(KEY)


def test_the_event_and_the_list_come_between_two_reads_of_the_remedy() -> None:
    """The pod was not enqueued here: not by the event, not by the remedy."""
    controller = Controller()
    enqueued = []

    def change() -> None:
        controller.pods.after_read = lambda: None
        enqueued.append(controller.learns_of_the_record())
        controller.lists_again()

    def arm() -> None:
        controller.pods.after_read = change

    controller.after_record = arm
    with pytest.raises(releasing.UnsettledError, match="default/p-x-1"):
        controller.syncer.sync(KEY)
    assert enqueued == [False]


def test_an_event_after_the_list_enqueues_the_pod_itself() -> None:
    controller = Controller()
    controller.after_record = controller.lists_again
    controller.syncer.sync(KEY)
    assert claims.recorded_names(controller.pod) == {}
    assert controller.learns_of_the_record()
