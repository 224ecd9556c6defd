"""Rules about calls with several claims: a pod may have many."""

import contextlib
from collections.abc import Callable, Sequence

from harness.cluster.kubelet_api import calls, preparations
from harness.conformance import benches, cdi_specs, driver_instances, requirements, results


def all_prepared(bench: benches.Bench) -> None:
    claims = _claims(bench)
    _require_entries(_called(lambda: bench.prepare(*claims)), claims, "NodePrepareResources")


def own_devices(bench: benches.Bench) -> None:
    """Claims of two requests, where the devices are enough; each is prepared alone before."""
    claims = _claims(bench)
    alone = {}
    for claim in claims:
        alone[claim.uid] = _edits(bench, bench.prepared(claim))
        bench.unprepared(claim)
    answer = _called(lambda: bench.prepare(*claims))
    requirements.require_devices(answer)
    requirements.require_own(claims, answer)
    for claim in claims:
        edits = _edits(bench, requirements.devices(answer, claim)) - alone[claim.uid]
        results.require(
            not any(edits & alone[other.uid] for other in claims),
            "the CDI ids of a claim have the edits of another one",
        )
    for number, claim in enumerate(claims):
        bench.unprepared(claim)
        for other in claims[number + 1 :]:
            left = requirements.devices(answer, other)
            requirements.require_defined(bench, left, "after the end of another claim")


def all_unprepared(bench: benches.Bench) -> None:
    claims = _claims(bench)
    bench.prepare(*claims)
    _require_entries(_called(lambda: bench.unprepare(*claims)), claims, "NodeUnprepareResources")


def one_bad(bench: benches.Bench) -> None:
    *good, bad = _claims(bench)
    bench.remove(bad)
    try:
        answer = bench.prepare(*good, bad)
    except calls.CallError as error:
        raise results.Failed(f"a claim that is gone fails the whole call: {error}") from None
    results.require(
        isinstance(answer.get(bad.uid), preparations.PreparationError),
        "the claim that is gone has no error in the answer",
    )
    requirements.require_own(good, answer, "beside a bad one")


def one_bad_then_good(bench: benches.Bench) -> None:
    """The kubelet leaves the bad one out, when its pod is gone."""
    *good, bad = _claims(bench)
    bench.remove(bad)
    with contextlib.suppress(calls.CallError):  # the whole call may be refused
        bench.prepare(*good, bad)
    for claim in good:
        entry = bench.prepared(claim, "after a call with a bad one")
        requirements.require_own([claim], {claim.uid: entry}, "after a call with a bad one")
        bench.unprepared(claim)
    bench.unprepared(bad, "of the bad claim")
    requirements.require_gone(bench, "after a call with a bad claim")
    for claim in (*good, bad):
        requirements.require_free(bench, claim, "after a call with a bad claim")


def unprepare_one_unknown(bench: benches.Bench) -> None:
    """The kubelet calls for claims that it never got to prepare."""
    claims = _claims(bench)
    bench.prepare(*claims)
    unknown = bench.never_made()
    answer = _called(lambda: bench.unprepare(unknown, *claims))
    _require_entries(answer, [unknown, *claims], "NodeUnprepareResources")
    for claim in claims:
        requirements.require_free(bench, claim, "after a call with an unknown claim")


def none(bench: benches.Bench) -> None:
    answers = [_called(bench.prepare), _called(bench.unprepare)]
    results.require(not any(answers), "a call without claims is answered with claims")


def _claims(bench: benches.Bench) -> list[benches.Claim]:
    """Return two or three claims of one or two requests. Raises Skipped if there are not two."""
    return [bench.claim(*devices, apart=True) for devices in bench.devices.sets(3)]


def _edits(bench: benches.Bench, devices: preparations.Prepared) -> set[str]:
    known = cdi_specs.edits(bench.cdi())
    return {known[item] for device in devices for item in device.cdi_device_ids if item in known}


def _called(call: Callable[[], driver_instances.Answer]) -> driver_instances.Answer:
    try:
        return call()
    except calls.CallError as error:
        raise results.Failed(f"a call of several claims fails as a whole: {error}") from None


def _require_entries(
    answer: driver_instances.Answer, claims: Sequence[benches.Claim], method: str
) -> None:
    wanted = {claim.uid for claim in claims}
    missing, unknown = wanted - answer.keys(), answer.keys() - wanted
    results.require(
        not missing,
        f"the answer of {method} lacks {len(missing)} of {len(claims)} claims of the call",
    )
    results.require(
        not unknown,
        f"the answer of {method} has {min(unknown, default='')!r:.60}, which is no claim of the call",
    )
    for uid, entry in answer.items():
        if isinstance(entry, preparations.PreparationError):
            raise results.Failed(f"{method} of {len(claims)} claims fails for {uid}: {entry}")
