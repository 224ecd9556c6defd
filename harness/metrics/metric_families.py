"""Metric families and their text form, as Prometheus reads it.

The form is that of https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

import contextlib
import dataclasses
import math
from collections.abc import Iterable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]
"""The values of a family's labels, in the order of their names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """Samples of one metric at one time."""

    name: str
    help: str
    kind: str
    """`counter`, `gauge` or `histogram`."""
    label_names: Labels
    samples: Mapping[Labels, float]
    """Counts of a histogram by bucket, whose upper limit is the last label, `le`."""
    sums: Mapping[Labels, float] = dataclasses.field(default_factory=dict)
    """Sums of a histogram, by the labels without `le`."""


def limit_text(limit: float) -> str:
    """Return the upper limit of a bucket, as the label `le` has it."""
    return "+Inf" if math.isinf(limit) else f"{limit:g}"


def render(families: Iterable[Family]) -> str:
    """Return the text of metric families; one without samples has its name and help."""
    return "".join(_rendered(family) for family in families)


def _rendered(family: Family) -> str:
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    lines = [f"# HELP {family.name} {text}", f"# TYPE {family.name} {family.kind}"]
    is_histogram = family.kind == "histogram"
    name = f"{family.name}_bucket" if is_histogram else family.name
    samples = family.samples.items()
    for labels, value in samples if is_histogram else sorted(samples):
        lines.append(_line(name, family.label_names, labels, value))
    for labels, value in sorted(family.sums.items()):
        count = family.samples[*labels, "+Inf"]
        lines.append(_line(f"{family.name}_sum", family.label_names[:-1], labels, value))
        lines.append(_line(f"{family.name}_count", family.label_names[:-1], labels, count))
    return "\n".join(lines) + "\n"


def _line(name: str, label_names: Labels, labels: Labels, value: float) -> str:
    pairs = zip(label_names, labels, strict=True)
    text = ",".join(f'{key}="{_escaped(label)}"' for key, label in pairs)
    return f"{name}{{{text}}} {_number(value)}" if text else f"{name} {_number(value)}"


def _number(value: float) -> str:
    """Return a value with all of its digits: six, as `:g` has, are too few for a counter."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def process_families() -> list[Family]:
    """Return CPU time, memory, open files and start; what the platform does not provide is left
    out.

    The names are those of https://prometheus.io/docs/instrumenting/writing_clientlibs/.
    """
    import psutil  # 20 ms: only on request

    process = psutil.Process()
    with process.oneshot():
        times, memory = process.cpu_times(), process.memory_info()
        started_s = process.create_time()
    cpu_s = times.user + times.system
    found = [
        _family("process_cpu_seconds_total", "User and system CPU time, in seconds.", cpu_s),
        _family("process_resident_memory_bytes", "Resident memory.", memory.rss),
        _family("process_virtual_memory_bytes", "Virtual memory.", memory.vms),
        _family("process_start_time_seconds", "Start, in seconds since 1970.", started_s),
    ]
    with contextlib.suppress(psutil.Error, AttributeError, OSError):
        opened, limit = process.num_fds(), process.rlimit(psutil.RLIMIT_NOFILE)[0]
        found.append(_family("process_open_fds", "Open file descriptors.", opened))
        found.append(_family("process_max_fds", "Most open file descriptors.", limit))
    return found


def _family(name: str, text: str, value: float) -> Family:
    kind = "counter" if name.endswith("_total") else "gauge"
    return Family(name, text, kind, (), {(): float(value)})
