"""Figures of states as text, for terminals and pages."""


def elapsed(seconds: float | None) -> str:
    """Return `7.0 s`, `2 min 5 s`, …; `?` if it is not known."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def milliseconds(value: float | None) -> str:
    """Return `0.12`, `3.4`, `1240`; `-` if nothing was measured."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def verdict_counts(counts: dict[str, int]) -> str:
    """Return `3 VALID, 1 INVALID`."""
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items())) or "none"
