"""From a run directory to its verdict: fold the observations, certify the evidence, run the checks.

Deterministic: two judgings of one directory give the same bytes. A check that breaks gives UNKNOWN with the reason, and so does
evidence that is damaged.
"""

import dataclasses
from collections.abc import Callable

import msgspec

from harness import errors, writing
from harness.checks import certificate, device_exclusivity, figures, hold_history, verdicts
from harness.history import directories, files, histories

SCHEMA_VERSION = 2
Check = Callable[[hold_history.HoldHistory], verdicts.CheckResult]
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
    evidence: dict[str, str]
    """What was judged: the name of every file -> its SHA-256."""

    @property
    def exit_code(self) -> int:
        """Of a command that came to this."""
        return self.verdict.exit_code


@dataclasses.dataclass(frozen=True, slots=True)
class Examination:
    """A judgement, with what it was made from."""

    history: histories.History
    folded: hold_history.HoldHistory
    judgement: Judgement


def judge(directory: directories.RunDirectory) -> Judgement:
    """The judgement of a directory; RunDirectoryError when it is none. Damaged evidence makes UNKNOWN."""
    return examine(directory).judgement


def examine(directory: directories.RunDirectory) -> Examination:
    """The same, with what it was made from."""
    history = histories.load(directory.path)
    recorder = history.observations()
    folded = _fold(recorder)
    items, operations = certificate.certify(history, folded, recorder)
    results = [_run(name, check, folded) for name, check in CHECKS.items()]
    verdict, reason = _conclude(items, results)
    plan = history.plan
    judgement = Judgement(
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
        evidence=history.digests(),
    )
    return Examination(history, folded, judgement)


def _fold(recorder: histories.Reader | None) -> hold_history.HoldHistory:
    """Of damaged observations, nothing: what is missing from them, such as a release, could look like a double allocation."""
    if recorder is None:
        return hold_history.fold(())
    try:
        folded = hold_history.fold(recorder)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # The record is whole, but the object in it is none of the API's.
        recorder.damage = (
            f"{recorder.path.name}, line {recorder.line}: expected an object as the API server sends it ({error}). "
            "The journal is damaged; restore the file or run again"
        )
    return hold_history.fold(()) if recorder.damage else folded


def encode(judgement: Judgement) -> bytes:
    """The content of verdict.json, for people too."""
    return msgspec.json.format(msgspec.json.encode(judgement), indent=2) + b"\n"


def write(directory: directories.RunDirectory, judgement: Judgement) -> None:
    """Replace verdict.json, whole or not at all."""
    writing.replace(directory.verdict, encode(judgement))


def read(directory: directories.RunDirectory) -> Judgement:
    """Read verdict.json; VerdictError when it is missing, damaged or of another schema."""
    try:
        content = files.read_small(directory.verdict)
        found = msgspec.json.decode(content, type=_Schema).schema
        if found == SCHEMA_VERSION:
            return msgspec.json.decode(content, type=Judgement)
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refuse(directory, f"expected the verdict of a run ({error})") from error
    raise _refuse(directory, f"expected schema {SCHEMA_VERSION}, got {found}")


class _Schema(msgspec.Struct):
    schema: int


def require_own(directory: directories.RunDirectory, judgement: Judgement) -> None:
    """Reject a verdict.json that says anything else than this judgement of the evidence beside it; VerdictError.

    It finds evidence that was changed, a verdict that was edited or copied here, and one of another version of the judges.
    """
    found = read(directory)
    changed = sorted(
        name
        for name in found.evidence.keys() | judgement.evidence.keys()
        if found.evidence.get(name) != judgement.evidence.get(name)
    )
    if changed:
        raise _refuse(directory, f"it was made from other evidence ({', '.join(changed)} differ)")
    if found != judgement:
        raise _refuse(directory, "it was edited, or made by another version of Flake Hunt")


def _refuse(directory: directories.RunDirectory, why: str) -> errors.VerdictError:
    return errors.VerdictError(
        f"{directory.verdict}: {why}. Judge the run again: flake-hunt check {directory.path}"
    )


def _run(name: str, check: Check, folded: hold_history.HoldHistory) -> verdicts.CheckResult:
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
