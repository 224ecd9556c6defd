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
