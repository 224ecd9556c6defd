"""The store against the reference.

`FLAKE_HUNT_STEPS=100000 python -m pytest -s --timeout 0 tests/model_based/test_store.py` takes this
number of steps instead of a few thousand.
"""

import os

import hypothesis
import pytest
from hypothesis import stateful

from tests.model_based import machines, reference, servers

STEPS = int(os.environ.get("FLAKE_HUNT_STEPS", "3000"))
STEPS_A_RUN = 50


def test_the_store_does_what_the_reference_does(capsys: pytest.CaptureFixture[str]) -> None:
    machines.TAKEN.clear()
    stateful.run_state_machine_as_test(
        machines.Machine, settings=machines.settings(STEPS // STEPS_A_RUN, STEPS_A_RUN)
    )
    with capsys.disabled():
        if "FLAKE_HUNT_STEPS" in os.environ:
            print(f"\n{machines.TAKEN.total()} steps: {dict(machines.TAKEN)}")  # noqa: T201
    rules = [n for n, f in vars(machines.Machine).items() if hasattr(f, stateful.RULE_MARKER)]
    assert len(rules) > 15
    assert not [name for name in rules if not machines.TAKEN[name]]


class LostUpdates(machines.Machine):
    """A store that forgets to compare versions."""

    def start(self) -> servers.StoreServer:
        server = super().start()
        ask = server.ask

        def careless(method: str, path: str, body: object = None, **options: object) -> object:
            if method == "PUT" and isinstance(body, dict):
                body["metadata"].pop("resourceVersion", None)
            return ask(method, path, body, **options)  # type: ignore[arg-type]

        server.ask = careless  # type: ignore[assignment, method-assign]
        return server


def test_a_store_that_loses_updates_is_found_out() -> None:
    with pytest.raises(AssertionError):
        stateful.run_state_machine_as_test(
            LostUpdates,
            settings=hypothesis.settings(
                machines.settings(500, STEPS_A_RUN),
                derandomize=True,
                phases=[hypothesis.Phase.generate],
            ),
        )


def test_what_is_applied_again_later_is_no_change() -> None:
    server = servers.StoreServer(machines.HISTORY_MAX)
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a"
    request = {"name": "gpu", "exactly": {"deviceClassName": "c"}}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a"},
        "spec": {"devices": {"requests": [request]}},
    }
    answers = [
        server.ask(
            "PATCH",
            path,
            document,
            query={"fieldManager": "m"},
            content_type="application/apply-patch+yaml",
        )
        for _ in range(3)
    ]
    assert [answer.status for answer in answers] == [201, 200, 200]
    assert answers[0].body == answers[1].body == answers[2].body


def test_the_reference_forgets_what_is_too_old() -> None:
    made = reference.Reference(0, history_max=1)
    for name in ("a", "b", "c"):
        made.create(reference.State(kind=reference.CONFIGMAPS, name=name))
    assert [state.name for _, state in made.events_after(reference.CONFIGMAPS, 2, None)] == ["c"]
    with pytest.raises(reference.RefusedError, match="410"):
        made.events_after(reference.CONFIGMAPS, 1, None)
