"""The settings file of a subject process."""

import pathlib

import pytest

from harness import errors
from harness.subject import subject_process


def test_no_file_means_the_defaults() -> None:
    assert subject_process.read_settings(None) == subject_process.Settings()


def test_every_setting_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        '{"seed": 7, "run_id": "r", "switch_interval_s": 1e-5, "binders": 4,'
        ' "backoff_initial_s": 0.5, "backoff_max_s": 2.0,'
        ' "pauses": {"probability": 0.5, "pause_s_max": 0.25}}'
    )
    assert subject_process.read_settings(path) == subject_process.Settings(
        seed=7,
        run_id="r",
        switch_interval_s=1e-5,
        binders=4,
        backoff_initial_s=0.5,
        backoff_max_s=2.0,
        pauses=subject_process.Pauses(probability=0.5, pause_s_max=0.25),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("{", "truncated"),
        ("[]", "object"),
        ('{"sede": 7}', "sede"),
        ('{"seed": "7"}', "seed"),
        ('{"pauses": {"chance": 1}}', "chance"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(
    tmp_path: pathlib.Path, text: str, why: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(errors.UsageError, match=why) as caught:
        subject_process.read_settings(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.UsageError, match=r"nothing\.json"):
        subject_process.read_settings(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "run", [subject_process.run_scheduler, subject_process.run_claim_controller]
)
def test_an_unknown_defect_is_refused_before_anything_is_connected(
    tmp_path: pathlib.Path, run: object
) -> None:
    options = subject_process.SubjectOptions(kubeconfig=tmp_path / "none", defects=("none-such",))
    with pytest.raises(errors.UsageError, match="none-such"):
        run(options)  # type: ignore[operator]
