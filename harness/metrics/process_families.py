"""The `process_…` families that Prometheus' own client libraries have, about this process."""

import contextlib

from harness.metrics import metric_families


def collect() -> list[metric_families.Family]:
    """Return CPU time, memory, open files and start; what the platform does not tell is left out.

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


def _family(name: str, text: str, value: float) -> metric_families.Family:
    kind = "counter" if name.endswith("_total") else "gauge"
    return metric_families.Family(name, text, kind, (), {(): float(value)})
