"""CEL selectors: a first evaluation, a converted device, a known result, and compilation."""

import time
from collections.abc import Callable, Iterator

from harness.subject.allocation import expressions
from harness.subject.cel import programs

DRIVER = "gpu.example.com"
DEVICE = {
    "name": "gpu-0",
    "attributes": {
        "model": {"string": "big"},
        "index": {"int": 7},
        "driverVersion": {"version": "1.2.3"},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}
MINE = f'["{DRIVER}"]'
TEXTS = {
    "driver": f'device.driver == "{DRIVER}"',
    "attribute": f'device.attributes{MINE}.model == "big"',
    "version": f'device.attributes{MINE}.driverVersion.isGreaterThan(semver("1.0.0"))',
    "quantity": f'device.capacity{MINE}.memory.compareTo(quantity("10Gi")) >= 0',
    "pattern": f'device.attributes{MINE}.model.matches("^b[a-z]+$")',
}
REPETITIONS = 20_000
COMPILATIONS = 200


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure each kind of selector on one device."""
    device = programs.fields(DRIVER, DEVICE)
    for name, text in TEXTS.items():
        selector, results = expressions.Selector(text), expressions.Results()
        yield f"{name}: device in JSON", _us(REPETITIONS, selector.matches, DRIVER, DEVICE), "µs"
        yield f"{name}: device converted", _us(REPETITIONS, selector.evaluate, device), "µs"
        known = _us(REPETITIONS, results.matches, text, DRIVER, "pool", DEVICE)
        yield f"{name}: result known", known, "µs"
    for name, text in TEXTS.items():
        yield f"{name}: compiled", _us(COMPILATIONS, expressions.Selector, text), "µs"


def _us(repetitions: int, run: Callable[..., object], *arguments: object) -> float:
    """Return the microseconds of one call."""
    started = time.perf_counter()
    for _ in range(repetitions):
        run(*arguments)
    return (time.perf_counter() - started) / repetitions * 1e6
