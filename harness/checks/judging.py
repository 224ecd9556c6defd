"""From a run directory to its verdict: fold the observations, certify the evidence, run the checks.

Deterministic: two judgings of one directory give the same bytes. A check that breaks gives UNKNOWN with the reason.
"""

from collections.abc import Callable

import msgspec

from harness import errors
from harness.checks import certificate, device_exclusivity, figures, folding, verdicts
from harness.history import directories, histories, records

SCHEMA_VERSION = 1
Check = Callable[[folding.Folded], verdicts.CheckResult]
CHECKS: dict[str, Check] = {device_exclusivity.NAME: device_exclusivity.check}


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run: verdict.json."""

    schema: int = SCHEMA_VERSION
    run_id: str
    scenario: str
    subject: str
    defects: list[str]
    seed: int
    verdict: verdicts.Verdict
    reason: str
    certificate: list[certificate.Item]
    checks: list[verdicts.CheckResult]
    figures: figures.Figures

    @property
    def exit_code(self) -> int:
        """Of a command that came to this."""
        return self.verdict.exit_code


def judge(directory: directories.RunDirectory) -> Judgement:
    """The judgement of a directory; HistoryError when a file is damaged, RunDirectoryError when it is none."""
    history = histories.load(directory.path)
    recorder = history.observations()
    folded = _fold(recorder)
    items, operations = certificate.certify(history, folded, recorder)
    results = [_run(name, check, folded) for name, check in CHECKS.items()]
    verdict, reason = _conclude(items, results)
    plan = history.plan
    return Judgement(
        run_id=plan.run_id,
        scenario=plan.scenario,
        subject=plan.subject,
        defects=plan.defects,
        seed=plan.seed,
        verdict=verdict,
        reason=reason,
        certificate=items,
        checks=results,
        figures=figures.measure(history, folded, operations, results),
    )


def _fold(recorder: records.Reader | None) -> folding.Folded:
    try:
        return folding.fold(recorder or ())
    except (
        msgspec.DecodeError
    ) as error:  # the record is whole, but the object in it is none of the API's
        assert recorder is not None  # noqa: S101 - nothing was decoded otherwise
        raise errors.HistoryError(
            f"{recorder.path}, line {recorder.line}: expected an object as the API server sends it ({error}). "
            "The journal is damaged; restore the file or run again"
        ) from error


def write(directory: directories.RunDirectory, judgement: Judgement) -> None:
    """Write verdict.json, for people too."""
    directory.verdict.write_bytes(
        msgspec.json.format(msgspec.json.encode(judgement), indent=2) + b"\n"
    )


def read(directory: directories.RunDirectory) -> Judgement:
    """Read verdict.json; HistoryError when it is missing or damaged."""
    try:
        return msgspec.json.decode(directory.verdict.read_bytes(), type=Judgement)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.HistoryError(
            f"{directory.verdict}: expected the verdict of a run ({error}). Judge it: flake-hunt check {directory.path}"
        ) from error


def _run(name: str, check: Check, folded: folding.Folded) -> verdicts.CheckResult:
    try:
        return check(folded)
    except Exception as error:  # noqa: BLE001 - whatever breaks a judge, it is no verdict about the judged
        return verdicts.CheckResult(
            check=name,
            verdict=verdicts.Verdict.UNKNOWN,
            examined_count=0,
            violation_count=0,
            violations=[],
            others=[],
            reason=f"the check broke: {error!r}",
        )


def _conclude(
    items: list[certificate.Item], results: list[verdicts.CheckResult]
) -> tuple[verdicts.Verdict, str]:
    """The worst of all; a violation counts whatever the certificate says, and nothing else does without it."""
    found = verdicts.worst(result.verdict for result in results)
    missing = [item for item in items if not item.ok]
    if found is verdicts.Verdict.VALID and missing:
        found = verdicts.Verdict.UNKNOWN
    if missing and found is not verdicts.Verdict.INVALID:
        return found, "; ".join(f"{item.name}: {item.reason}" for item in missing)
    return found, "; ".join(result.reason for result in results if result.verdict is found)
