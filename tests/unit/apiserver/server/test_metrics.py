"""`/metrics`: the names and labels of kube-apiserver, read by Prometheus' own parser."""

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client import parser

from harness import clocks
from tests.support import faulty_servers

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"
TIMEOUT_S = 20


def scraped(live: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The samples by name and labels."""
    status, text = live.call("GET", "/metrics")
    assert status == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in parser.text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def total(
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str
) -> float:
    """The sum of the samples that have these labels."""
    found = [
        value for (key, its), value in samples.items() if key == name and set(labels.items()) <= its
    ]
    assert found, f"no sample of {name} with {labels}"
    return sum(found)


def test_requests_count_by_all_the_labels_of_kube_apiserver(live: Any) -> None:
    live.call("POST", CONFIGMAPS, {"metadata": {"name": "one"}})
    live.call("POST", CONFIGMAPS, {"metadata": {"name": "one"}})
    live.call("POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "two"}})
    live.call("GET", f"{CONFIGMAPS}/one")
    live.call("GET", CLAIMS)
    live.call("GET", "/healthz")
    samples = scraped(live)
    base = {
        "group": "",
        "version": "v1",
        "resource": "configmaps",
        "subresource": "",
        "component": "apiserver",
    }
    created = base | {"verb": "POST", "scope": "resource", "dry_run": ""}
    name = "apiserver_request_total"
    assert samples[name, frozenset((created | {"code": "201"}).items())] == 1
    assert samples[name, frozenset((created | {"code": "409"}).items())] == 1
    assert total(samples, name, dry_run="All", code="201") == 1
    assert total(samples, name, verb="GET", resource="configmaps", scope="resource") == 1
    assert total(samples, name, verb="LIST", group="resource.k8s.io", scope="cluster") == 1
    assert total(samples, name, subresource="/healthz", code="200") == 1
    durations = "apiserver_request_duration_seconds"
    assert samples[f"{durations}_count", frozenset(created.items())] == 2
    assert total(samples, f"{durations}_bucket", verb="POST", dry_run="", le="+Inf") == 2
    assert 0 < total(samples, f"{durations}_sum", verb="POST", dry_run="") < TIMEOUT_S


@pytest.mark.parametrize("name", ["apiserver_request_duration_seconds_bucket"])
def test_a_bucket_has_all_that_is_in_the_ones_below(live: Any, name: str) -> None:
    for number in range(3):
        live.call("GET", f"{CONFIGMAPS}/{number}")
    samples = scraped(live)
    by_limit = sorted(
        (float(dict(labels)["le"].replace("+Inf", "inf")), value)
        for (key, labels), value in samples.items()
        if key == name and ("verb", "GET") in labels
    )
    values = [value for _, value in by_limit]
    assert values == sorted(values)
    assert values[-1] == 3


def test_unknown_paths_and_values_make_no_series_of_their_own(live: Any) -> None:
    def series() -> int:
        return sum(key == "apiserver_request_total" for key, _ in scraped(live))

    live.call("GET", "/nowhere/0")
    live.call("GET", f"{CONFIGMAPS}?dryRun=0")
    before = series()
    for number in range(1, 9):
        live.call("GET", f"/nowhere/{number}")
        live.call("GET", f"{CONFIGMAPS}?dryRun={number}")
        live.call("GET", f"{CONFIGMAPS}/{number}/{number}")
    assert series() <= before + 1  # that of /metrics itself


def test_a_watch_is_long_running_and_counts_at_its_end(live: Any) -> None:
    path = f"{CONFIGMAPS}?watch=true&timeoutSeconds=60"
    with live.watching(path) as events:
        live.call("POST", CONFIGMAPS, {"metadata": {"name": "one"}})
        assert next(events)["type"] == "ADDED"
        samples = scraped(live)
        assert (
            total(samples, "apiserver_longrunning_requests", verb="WATCH", scope="namespace") == 1
        )
        assert total(samples, "apiserver_current_inflight_requests", request_kind="readOnly") == 1
        assert not any(
            ("verb", "WATCH") in labels
            for key, labels in samples
            if key == "apiserver_request_total"
        )

    def has_ended() -> bool:
        now = scraped(live)
        return any(
            ("verb", "WATCH") in labels for key, labels in now if key == "apiserver_request_total"
        )

    clocks.wait_until(has_ended, timeout_s=TIMEOUT_S, why="the watch to count")
    assert not any(key == "apiserver_longrunning_requests" for key, _ in scraped(live))


def test_objects_and_the_process_have_figures(live: Any) -> None:
    for number in range(3):
        live.call("POST", CONFIGMAPS, {"metadata": {"name": f"n{number}"}})
    samples = scraped(live)
    configmaps = total(samples, "apiserver_resource_objects", group="", resource="configmaps")
    assert configmaps == total(samples, "apiserver_storage_objects", resource="configmaps") >= 3
    assert (
        total(samples, "apiserver_storage_objects", resource="resourceclaims.resource.k8s.io") == 0
    )
    assert total(samples, "process_resident_memory_bytes") > 2**20
    assert total(samples, "process_cpu_seconds_total") > 0
    assert 1.7e9 < total(samples, "process_start_time_seconds") < 1e10


def test_only_administrators_read_it(live: Any) -> None:
    status, body = live.call("GET", "/metrics", token="less-of-a-secret")
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"] == 'forbidden: User "flake-hunt-reader" cannot get path "/metrics"'
    assert live.call("GET", "/metrics", token="wrong")[0] == 401
    assert live.call("GET", "/healthz", token="less-of-a-secret")[0] == 200
    assert live.call("DELETE", "/metrics")[0] == 405


def test_a_lost_response_counts_and_a_lost_request_does_not(serve: Callable[..., Any]) -> None:
    live = serve(make_parts=faulty_servers.Clock().parts)
    for point in ("request", "response"):
        faulty_servers.begin(live, point, {"type": "lose"}, count=1)
        with pytest.raises(OSError, match="closed"):
            live.call("PUT", f"{CONFIGMAPS}/{point}", {}, headers=faulty_servers.VICTIM)
    samples = scraped(live)
    assert total(samples, "apiserver_request_total", verb="PUT", resource="configmaps") == 1
    assert total(samples, "apiserver_current_inflight_requests", request_kind="mutating") == 0


def test_a_request_that_a_fault_holds_is_in_flight(serve: Callable[..., Any]) -> None:
    live = serve(make_parts=faulty_servers.Clock().parts)
    faulty_servers.begin(live, "request", {"type": "block"})
    with faulty_servers.RawConnection(live) as held:
        held.ask(CONFIGMAPS)

        def in_flight() -> float:
            return total(
                scraped(live), "apiserver_current_inflight_requests", request_kind="readOnly"
            )

        clocks.wait_until(
            lambda: in_flight() == 2, timeout_s=TIMEOUT_S, why="the request to be held"
        )
