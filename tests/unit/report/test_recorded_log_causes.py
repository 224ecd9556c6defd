"""The recorded log of kube-scheduler, as that of a run, explains the run's violation."""

import lzma
import pathlib

from harness.checks import judging, verdict_files
from harness.history import directories
from harness.report import rendering
from tests.histories import building, language
from tests.support import log_lines, page_markup

TEXT = "a+D1 a^p p* b+D1 b^q q* a~ b~"
RECORDED = "hunt-1795221190"


def run(path: pathlib.Path) -> directories.RunDirectory:
    """A run of kube-scheduler with a double allocation, without its log."""
    changes = {"subject": "kube-scheduler", "expected_steps": []}
    return building.build(path / "run", TEXT, changes=changes)


def with_log(directory: directories.RunDirectory, text: str) -> directories.RunDirectory:
    directory.logs.mkdir(exist_ok=True)
    directory.log("scheduler").write_text(text)
    return directory


def recorded_as_this_run() -> str:
    """The recorded log, with the names of the run for those of its first double allocation."""
    text = lzma.decompress(log_lines.RECORDED.read_bytes()).decode()
    text = "".join(text.splitlines(keepends=True)[:2_000])
    driver, pool, device = language.device_id("D1").split("/")
    text = text.replace('"device": "worker-3-device-000"', f'"device": "{device}"')
    text = text.replace(f'"driver": "{RECORDED}.driver"', f'"driver": "{driver}"')
    text = text.replace('"pool": "worker-3"', f'"pool": "{pool}"')
    text = text.replace(f"{RECORDED}.driver/worker-3/worker-3-device-000", language.device_id("D1"))
    for claim, name in (("claim-0001", "a"), ("claim-0005", "b")):
        text = text.replace(f"{RECORDED}/{claim}", f"{language.NAMESPACE}/{name}")
    return text


def rendered(directory: directories.RunDirectory) -> str:
    verdict_files.write(directory, judging.judge(directory))
    rendering.render(directory)
    return page_markup.read(directory.report.read_text(encoding="utf-8")).text


def test_the_log_of_kube_scheduler_explains_the_violation(tmp_path: pathlib.Path) -> None:
    text = rendered(with_log(run(tmp_path), recorded_as_this_run()))
    assert "According to the scheduler's log: assume-cache early return." in text
    assert "had left the in-flight claims (line 435" in text
    assert "at least 13.508 ms" in text
    assert "logs/scheduler.log" in text
    assert str(tmp_path) not in text
