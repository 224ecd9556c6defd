"""Rules about opaque parameters, which the API server passes on without understanding them."""

from typing import Any

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import benches, claim_documents, results

_BYTES_MAX = 10 * 1024
_ODD: tuple[dict[str, Any], ...] = (
    {},
    {"a": None, "b": [1, [2.5, {"c": True}]], "d": {"e": {"f": {"g": []}}}},
    {"kind": 7, "apiVersion": ["x"], "name=with=signs": "line\nbreak\t\u00e9\u4e16\U0001f600"},
    {"": "", " ": " ", "../../etc": "$(id)", "-": 10**18, "\u202e": -0.0},
)


def unknown(bench: benches.Bench) -> None:
    value = {"apiVersion": "nothing.example.com/v9", "kind": "NoSuchConfig", "field": "value"}
    _require_contained(bench, value, "parameters of an unknown kind")


def any_json(bench: benches.Bench) -> None:
    for value in _ODD:
        _require_contained(bench, value, f"the parameters {str(value)[:60]}")


def large(bench: benches.Bench) -> None:
    frame = len('{"padding":""}')
    value = {"padding": "x" * (_BYTES_MAX - frame)}
    _require_contained(bench, value, "parameters of 10 KiB")


def other_drivers(bench: benches.Bench) -> None:
    config = claim_documents.parameters("other.example.com", {"kind": "NotYours"})
    bench.prepared(bench.claim(config=[config]), "with parameters for another driver")


def of_claim_before(bench: benches.Bench) -> None:
    device = bench.devices.first()[0]
    if bench.can_restart:
        bench.restart()  # so that the first claim of the device is the one before
    for mark in ("claim-before", "claim-now"):
        config = claim_documents.parameters(bench.name, {"text": f"mark-of-{mark}"})
        claim = bench.claim(device, config=[config])
        reason = bench.refusal(claim)
        results.skip_unless(not reason, f"the driver refuses made-up parameters: {reason}")
        files = bench.cdi().values()
        bench.unprepared(claim)
    results.require(
        not any(b"mark-of-claim-before" in content for content in files),
        "the CDI files of a claim have parameters of the claim before",
    )


def _require_contained(bench: benches.Bench, value: Any, what: str) -> None:
    """Prepare a claim with parameters beside one without, where there are two devices."""
    devices = bench.devices.up_to(2)
    config = claim_documents.parameters(bench.name, value)
    claim = bench.claim(*devices[:1], config=[config])
    others = [bench.claim(device) for device in devices[1:]]
    try:
        answer = bench.prepare(claim, *others)
    except calls.CallError as error:
        raise results.Failed(f"{what} of one claim fail the whole call: {error}") from None
    for other in others:
        if isinstance(answer.get(other.uid), preparations.PreparationError):
            raise results.Failed(f"{what} of one claim fail another one: {answer[other.uid]}")
    bench.require_alive(f"after {what}")
    bench.unprepare(claim, *others)
