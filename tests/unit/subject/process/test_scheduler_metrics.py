"""The scheduler's metrics over HTTP, while it schedules."""

import urllib.request

import pytest

from harness import clocks, concurrency
from harness.client import apis
from harness.metrics import metric_families, metrics_servers
from harness.subject.plugin import binding_conditions
from harness.subject.process import scheduler_metrics
from harness.subject.scheduling import schedulers
from tests.support import api_objects, local_servers

TIMEOUT_S = 30.0


def read(port: int | None, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT_S) as answer:
        text: bytes = answer.read()
    return text.decode()


def test_the_metrics_tell_what_the_scheduler_did(server: local_servers.LocalServer) -> None:
    extended = api_objects.pod("extended")
    name = f"deviceclass.resource.kubernetes.io/{api_objects.CLASS}"
    extended["spec"]["containers"][0]["resources"] = {"limits": {name: "1"}}
    for resource, obj in (
        (apis.DEVICE_CLASSES, api_objects.device_class()),
        (apis.NODES, api_objects.node()),
        (apis.SLICES, api_objects.slice_of("a", "b")),
        (apis.CLAIMS, api_objects.claim("one")),
        (apis.CLAIMS, api_objects.claim("many", requests=[api_objects.exactly(count=9)])),
        (apis.PODS, api_objects.pod("bound", use=["one"])),
        (apis.PODS, api_objects.pod("waits", use=["many"])),
        (apis.PODS, api_objects.pod("gated", use=["none"])),
        (apis.PODS, extended),
    ):
        local_servers.put(server, resource, obj)
    options = schedulers.SchedulerOptions(binders=1)
    scheduler = schedulers.Scheduler(apis.Api(server), options)
    metrics = scheduler_metrics.SchedulerMetrics("flake-hunt")
    concurrency.listen(metrics)
    expected = (
        'scheduler_schedule_attempts_total{profile="flake-hunt",result="scheduled"} 2',
        'scheduler_resourceclaim_creates_total{status="success"} 1',
        'scheduler_schedule_attempts_total{profile="flake-hunt",result="unschedulable"} ',
        'scheduler_pending_pods{queue="gated"} 1',
        'scheduler_pending_pods{queue="unschedulable"} 1',
        'scheduler_pending_pods{queue="active"} 0',
        'scheduler_pending_pods{queue="backoff"} 0',
        'scheduler_scheduling_attempt_duration_seconds_count{profile="flake-hunt",result="scheduled"} 2',
        'scheduler_queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"} 3',
        'scheduler_queue_incoming_pods_total{queue="unschedulable",event="ScheduleAttemptFailure"} ',
    )
    with metrics_servers.serving(
        0, lambda: metrics.collect(scheduler.pending, scheduler.incoming)
    ) as port:
        scheduler.start()
        try:
            clocks.wait_until(
                lambda: all(line in read(port, "/metrics") for line in expected),
                timeout_s=TIMEOUT_S,
                why="the metrics",
            )
            assert read(port, "/healthz") == "ok"
        finally:
            scheduler.stop()
            concurrency.listen(None)


def test_waits_for_devices_are_counted_by_driver() -> None:
    metrics = scheduler_metrics.SchedulerMetrics("mine")
    for status, waited_ms in (("success", 150), ("success", 5000), ("timeout", 600_000)):
        fields = {"pod": "p", "driver": "d", "status": status, "waited_ms": waited_ms}
        metrics(binding_conditions.ENDED, fields)
    lines = metric_families.render(metrics.collect(dict)).splitlines()
    counted = "scheduler_dra_bindingconditions_allocations_total"
    waited = "scheduler_dra_bindingconditions_wait_duration_seconds"
    labels = 'profile="mine",driver="d",status="success"'
    assert f"{counted}{{{labels}}} 2" in lines
    assert f'{counted}{{profile="mine",driver="d",status="timeout"}} 1' in lines
    assert f'{waited}_bucket{{{labels},le="0.2"}} 1' in lines
    assert f'{waited}_bucket{{{labels},le="819.2"}} 2' in lines
    assert f"{waited}_sum{{{labels}}} 5.15" in lines
    assert f"{waited}_count{{{labels}}} 2" in lines


@pytest.mark.parametrize(
    ("step", "result"),
    [
        ("scheduling.failed", "error"),
        ("bind.failed", "error"),
        ("bind.unschedulable", "unschedulable"),
        ("bind.done", "scheduled"),
    ],
)
def test_the_end_of_an_attempt_is_counted(step: str, result: str) -> None:
    metrics = scheduler_metrics.SchedulerMetrics("mine")
    for attempts in (1, 2):
        metrics("scheduling.started", {"pod": "p"})
        metrics(step, {"pod": "p"})
        lines = metric_families.render(metrics.collect(dict)).splitlines()
        labels = f'{{profile="mine",result="{result}"}}'
        assert f"scheduler_schedule_attempts_total{labels} {attempts}" in lines
        assert f"scheduler_scheduling_attempt_duration_seconds_count{labels} {attempts}" in lines
