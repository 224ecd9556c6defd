"""Rules about `status.devices` of claims, where drivers report on their devices."""

from harness.client import apis
from harness.conformance import benches, results

_OTHER = "other.example.com"


def keeps_others(bench: benches.Bench) -> None:
    """Another driver has reported before."""
    row = {"driver": _OTHER, "pool": "elsewhere", "device": "foreign"}
    claim = bench.claim(more_results=[row])
    bench.objects.set_status(claim.name, {"devices": [{**row, "data": {"up": True}}]})
    for when, call in (("Prepare", bench.prepared), ("Unprepare", bench.unprepared)):
        call(claim)
        status = bench.objects.found(apis.CLAIMS, claim.name).get("status", {})
        results.require(
            any(entry["driver"] == _OTHER for entry in status.get("devices") or ()),
            f"after {when}, the entry of {_OTHER} in status.devices is gone",
        )
