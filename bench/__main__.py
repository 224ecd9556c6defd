"""`python -m bench [NAME…]`: run the named benchmarks, or all of them."""

import sys

from bench import (
    allocating,
    apiserver,
    comparing,
    driving,
    explaining,
    exploring,
    faults,
    holding,
    judging,
    merging,
    preparing,
    proxying,
    querying,
    recording,
    scheduling,
    selectors,
    serving,
    starting,
    witnessing,
)

PARTS = {
    "allocating": allocating.measure,
    "apiserver": apiserver.measure,
    "comparing": comparing.measure,
    "driving": driving.measure,
    "faults": faults.measure,
    "holding": holding.measure,
    "judging": judging.measure,
    "merging": merging.measure,
    "preparing": preparing.measure,
    "querying": querying.measure,
    "recording": recording.measure,
    "scheduling": scheduling.measure,
    "selectors": selectors.measure,
    "serving": serving.measure,
    "starting": starting.measure,
    "explaining": explaining.measure,
    "exploring": exploring.measure,
    "proxying": proxying.measure,
    "witnessing": witnessing.measure,
}


def line(what: str, value: float, unit: str, first: float) -> str:
    """Return a figure with its ratio to the first one of its unit, which may be 0."""
    ratio = f"{value / first:>6.2f} ×" if first else f"{'-':>6}"
    return f"  {what:<76}{value:>10.1f} {unit:<12}{ratio}"


def main(names: list[str]) -> int:
    """Print a table of figures, each with its ratio to the first one of its unit."""
    unknown = set(names) - PARTS.keys()
    if unknown:
        print(
            f"expected some of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}",
            file=sys.stderr,
        )
        return 2
    for name in names or PARTS:
        print(f"\n{name}")
        first: dict[str, float] = {}
        for what, value, unit in PARTS[name]():
            print(line(what, value, unit, first.setdefault(unit, value)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
