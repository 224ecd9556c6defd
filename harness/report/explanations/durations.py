"""Durations for people."""


def shown(us: int) -> str:
    """Return microseconds with the unit that fits: `94 µs`, `13.508 ms`, `1.200 s`."""
    if abs(us) < 1_000:
        return f"{us} µs"
    if abs(us) < 1_000_000:
        return f"{us / 1e3:.3f} ms"
    return f"{us / 1e6:,.3f} s"
