"""A bench with a stand-in driver, which breaks the rule that a file beside its folders names."""

import contextlib
import dataclasses
import pathlib
import sys
from collections.abc import Callable, Iterator

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


@pytest.fixture
def spoiling(bench: benches.Bench) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """Let the stand-in break a rule, and mend it afterwards."""
    file = bench.folders.root / "spoilt"

    @contextlib.contextmanager
    def spoil(rule: str, *, from_start: bool) -> Iterator[None]:
        file.write_text(rule)
        try:
            if from_start:
                bench.begin_afresh()
            yield
        finally:
            file.unlink()
            has_ended = bool(bench.settle())
            if from_start or has_ended or not _has_connection(bench):
                bench.begin_afresh()
            else:
                (bench.folders.state / "checkpoint.json").unlink(missing_ok=True)
                bench.folders.empty_cdi()

    return spoil


def _has_connection(bench: benches.Bench) -> bool:
    try:
        bench.driver.start_unprepare([]).answer()
    except Exception:
        return False
    return True
