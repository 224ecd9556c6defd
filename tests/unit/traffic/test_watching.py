"""The watch that wakes users: for one pod, or once enough pods run at the same time."""

from typing import Any

import gevent

from harness.client import apis, kubeconfigs, transports
from harness.traffic import watching

NOWHERE = apis.Api(
    transports.HttpTransport(kubeconfigs.Endpoint(host="127.0.0.1", port=1, tls=False))
)


def _pod(name: str, phase: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def _watch() -> watching.PodWatch:
    return watching.PodWatch(NOWHERE, namespace="default")


def test_a_user_wakes_when_enough_pods_run_at_once() -> None:
    watch = _watch()
    user = gevent.spawn(watch.wait_running_count, 2, timeout_s=60)
    gevent.sleep(0)
    watch.on_add(_pod("a", "Running"), initial=False)
    watch.on_delete(_pod("a", "Running"))
    watch.on_add(_pod("b", "Running"), initial=False)
    gevent.sleep(0)
    assert not user.ready()  # two have run, but never both
    watch.on_update(_pod("c", "Pending"), _pod("c", "Running"))
    assert user.get(timeout=60)


def test_too_few_running_pods_are_said_after_the_timeout_and_after_a_stop() -> None:
    watch = _watch()
    watch.on_add(_pod("a", "Running"), initial=False)
    assert not watch.wait_running_count(2, timeout_s=0)
    user = gevent.spawn(watch.wait_running_count, 2, timeout_s=60)
    gevent.sleep(0)
    watch.stop()
    assert not user.get(timeout=60)


def test_a_user_waits_until_its_condition_holds_and_sees_the_claims_of_the_pod() -> None:
    watch = _watch()
    user = gevent.spawn(
        watch.wait, "a", lambda seen: seen is not None and len(seen.claims) == 2, timeout_s=60
    )
    gevent.sleep(0)
    for names in (["c"], ["c", "d"]):
        statuses = [{"name": f"entry-{name}", "resourceClaimName": name} for name in names]
        pod = {**_pod("a", "Pending"), "spec": {"nodeName": "worker-0"}}
        pod["status"]["resourceClaimStatuses"] = [*statuses, {"name": "needs-none"}]
        assert not user.ready()
        watch.on_update(pod, pod)
        gevent.sleep(0)
    assert user.get(timeout=60)
    seen = watch.get("a")
    assert seen is not None
    assert (seen.node, seen.claims) == ("worker-0", ("c", "d"))


def test_a_pod_that_has_finished_has_run_and_one_that_is_gone_has_not() -> None:
    watch = _watch()
    for phase, expected in (("Pending", False), ("Running", True), ("Succeeded", True)):
        watch.on_update(_pod("a", phase), _pod("a", phase))
        has_run = watching.is_in("Running", "Succeeded")
        assert watch.wait("a", has_run, timeout_s=0) is expected
    assert watch.wait("a", watching.is_in("Succeeded"), timeout_s=0)
    watch.on_delete(_pod("a", "Succeeded"))
    assert not watch.wait("a", has_run, timeout_s=0)
    assert watch.get("a") is None
