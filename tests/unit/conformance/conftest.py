"""A bench with a stand-in driver, which breaks the rule that a file beside its folders names."""

import contextlib
import dataclasses
import pathlib
import sys
from collections.abc import Iterator

import pytest

from harness import placeholders
from harness.conformance import benches, options, suite

COMMAND = (
    f"{sys.executable} -m tests.stand_ins.dra_driver {{kubeconfig}} {{node}} {{driver}} "
    "{plugins_dir} {registry_dir} {cdi_dir} {state_dir} {instance}"
)
ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="session")
def chosen() -> options.Options:
    command = placeholders.words(f"env PYTHONPATH={ROOT} {COMMAND}")
    return options.Options(command=command, deadline_s=20.0, start_s=30.0)


@pytest.fixture(scope="session")
def bench(chosen: options.Options) -> Iterator[benches.Bench]:
    """Spoilt drivers let it wait: its limits are shorter."""
    with suite.bench_of(dataclasses.replace(chosen, deadline_s=5.0, start_s=8.0)) as made:
        made.start()
        yield made


class Spoiling:
    """Lets the stand-in break a rule, and mends it afterwards."""

    def __init__(self, bench: benches.Bench) -> None:
        self._bench, self._file = bench, bench.folders.root / "spoilt"

    @contextlib.contextmanager
    def __call__(self, rule: str, *, from_start: bool) -> Iterator[None]:
        self._file.write_text(rule)
        try:
            if from_start:
                self._bench.begin_afresh()
            yield
        finally:
            self._file.unlink()
            self._mend(from_start=from_start)

    def _mend(self, *, from_start: bool) -> None:
        has_ended = bool(self._bench.settle())
        if from_start or has_ended or not self._has_connection():
            self._bench.begin_afresh()
        else:
            (self._bench.folders.state / "checkpoint.json").unlink(missing_ok=True)
            self._bench.folders.empty_cdi()

    def _has_connection(self) -> bool:
        try:
            self._bench.driver.start_unprepare([]).answer()
        except Exception:
            return False
        return True


@pytest.fixture
def spoiling(bench: benches.Bench) -> Spoiling:
    return Spoiling(bench)
