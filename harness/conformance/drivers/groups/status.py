"""Rules about `status.devices` of claims, where drivers report on their devices."""

from typing import Any

from harness.conformance import results
from harness.conformance.drivers import benches

_OTHER = "other.example.com"


def keeps_others(bench: benches.Bench) -> None:
    """Another driver has reported before."""
    claim = _claim_with_entry(bench)
    for when, call in (("Prepare", bench.prepared), ("Unprepare", bench.unprepared)):
        call(claim)
        if not any(entry["driver"] == _OTHER for entry in _entries(bench, claim)):
            raise results.Failed(f"after {when}, the entry of {_OTHER} in status.devices is gone")


def _claim_with_entry(bench: benches.Bench) -> benches.Claim:
    row = {"driver": _OTHER, "pool": "elsewhere", "device": "foreign"}
    claim = bench.claim(more_results=[row])
    namespace, name, _ = claim.reference
    bench.objects.set_status(namespace, name, {"devices": [{**row, "data": {"up": True}}]})
    return claim


def _entries(bench: benches.Bench, claim: benches.Claim) -> list[dict[str, Any]]:
    found = bench.objects.claim(claim.reference.namespace, claim.reference.name)
    entries: list[dict[str, Any]] = found.get("status", {}).get("devices") or []
    return entries
