"""Rules about calls at the same time."""

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import benches, driver_instances, requirements, results

_CALLS = 8
_ROUNDS = 5


def same_claim(bench: benches.Bench) -> None:
    """As several kubelets would, or one whose calls were cancelled."""
    claim = bench.claim()
    pending = [bench.driver.start_prepare([claim.reference]) for _ in range(_CALLS)]
    found = {str(_entry(bench, call, claim)) for call in pending}
    results.require(
        len(found) == 1, f"calls for one claim at the same time give {' and '.join(found)}"
    )


def different_claims(bench: benches.Bench) -> None:
    claims = [bench.claim(*devices, apart=True) for devices in bench.devices.sets(_CALLS)]
    entries = _prepared_at_once(bench, claims)
    requirements.require_own(claims, entries, "in calls at the same time")
    for claim in claims:
        devices = requirements.devices(entries, claim)
        requirements.require_defined(bench, devices, "beside other calls")


def prepare_and_unprepare(bench: benches.Bench) -> None:
    claim = bench.claim()
    for number in range(_ROUNDS):
        starts = [bench.driver.start_prepare, bench.driver.start_unprepare]
        pending = [start([claim.reference]) for start in starts[:: 1 if number % 2 else -1]]
        for call in pending:
            _entry(bench, call, claim)
    bench.unprepared(claim, "after calls at the same time")
    requirements.require_nothing(bench, claim, "after calls at the same time")


def one_device(bench: benches.Bench) -> None:
    """Several times, since it depends on the moment."""
    device = bench.devices.exclusive()[0]
    for _ in range(_ROUNDS):
        claims = [bench.claim(device) for _ in range(2)]
        entries = _prepared_at_once(bench, claims).values()
        results.require(
            sum(isinstance(entry, tuple) for entry in entries) < 2,
            "two claims with one device are prepared at the same time",
        )
        bench.unprepare(*claims)


def _prepared_at_once(bench: benches.Bench, claims: list[benches.Claim]) -> requirements.Entries:
    pending = [(claim, bench.driver.start_prepare([claim.reference])) for claim in claims]
    return {claim.uid: _entry(bench, call, claim) for claim, call in pending}


def _entry(
    bench: benches.Bench, pending: driver_instances.Pending, claim: benches.Claim
) -> driver_instances.Entry:
    try:
        answer = bench.answered(pending, "one of several calls at the same time")
    except calls.CallError as error:
        return preparations.PreparationError("CallFailed", str(error))
    return answer.get(claim.uid)
