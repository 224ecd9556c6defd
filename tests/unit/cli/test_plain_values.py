"""Values of options without Pydantic: the same values and the same complaints as Typer's own."""

import pathlib
import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
import typer

from harness.cli import plain_values

Given = dict[str, Any]


def command_of(given: list[Given]) -> Any:
    """A command with options of every kind that ours have; it notes the values that it gets."""
    app = typer.Typer()

    @app.command()
    def only(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        text: str = "a",
        none: str | None = None,
        path: pathlib.Path | None = None,
        folder: Annotated[pathlib.Path | None, typer.Option(file_okay=False)] = None,
        there: Annotated[pathlib.Path | None, typer.Option(exists=True)] = None,
        number: int = 3,
        few: Annotated[int, typer.Option(min=1, max=9)] = 1,
        clamped: Annotated[int, typer.Option(min=1, max=9, clamp=True)] = 1,
        seconds: Annotated[float, typer.Option(min=0)] = 0.5,
        paths: Annotated[list[pathlib.Path] | None, typer.Option("--each")] = None,
        form: Literal["text", "json"] = "text",
        loud: Annotated[Literal["Yes", "No"], typer.Option(case_sensitive=False)] = "No",
        parsed: Annotated[int, typer.Option(parser=lambda word: len(str(word)))] = 1,
        flag: bool = False,
        maybe: bool | None = None,
    ) -> None:
        given.append(locals())

    return typer.main.get_command(app)


def outcome(words: list[str], *, plainly: bool) -> object:
    """The values that the command gets, with their types, or its complaint."""
    given: list[Given] = []
    command = command_of(given)
    try:
        (plain_values.accept(command) if plainly else command)(words, standalone_mode=False)
    except Exception as error:
        return type(error).__name__, str(error)
    ((values),) = given
    return {name: (type(value), value) for name, value in values.items() if name != "given"}


HERE = str(pathlib.Path(__file__))
FOLDER = str(pathlib.Path(__file__).parent)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "one",
        "one two",
        "--text= --none=x",
        "--text é",
        "--path a/b/../c --folder . --there .",
        "--path -",
        f"--path {HERE} --folder {FOLDER} --there {HERE}",
        f"--folder {HERE}",
        "--there /no/such/file",
        "--number 7 --few 9 --clamped 4",
        "--number -7",
        "--number +7",
        "--number 07",
        "--number 1_000",
        "--number 1.0",
        "--number x",
        "--number=",
        f"--number {'9' * 30}",
        "--few 0",
        "--few 10",
        "--clamped 10",
        "--clamped -10",
        "--seconds 1 --seconds 2.5",
        "--seconds -1",
        "--each a --each b/",
        "--form json",
        "--form JSON",
        "--form other",
        "--loud yes",
        "--loud No",
        "--parsed three",
        "--flag --maybe",
        "--no-flag --no-maybe",
        "--unknown",
    ],
)
def test_values_and_complaints_are_those_of_typer(words: str) -> None:
    assert outcome(words.split(" ") if words else [], plainly=True) == outcome(
        words.split(" ") if words else [], plainly=False
    )


def test_a_path_that_may_not_be_read_is_complained_about(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").touch()
    monkeypatch.setattr("os.access", lambda *_: False)
    found = outcome(["--path", str(tmp_path / "secret")], plainly=True)
    assert "not readable" in str(found)
    assert found == outcome(["--path", str(tmp_path / "secret")], plainly=False)


@pytest.mark.parametrize(
    "arguments",
    [
        "record --kubeconfig nowhere --run-directory .",
        "scheduler --kubeconfig nowhere -v 2 --logging-format json",
        "claim-controller --kubeconfig nowhere --namespace one",
    ],
)
def test_a_part_of_a_run_starts_without_pydantic(tmp_path: pathlib.Path, arguments: str) -> None:
    code = (
        "import sys\nfrom harness.cli import commands\n"
        f"sys.argv = ['flake-hunt', *{arguments.split()!r}]\n"
        "code = commands.run()\n"
        "print(code, 'pydantic' in sys.modules)"
    )
    argv = [sys.executable, "-c", code]
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "False" in ended.stdout, ended.stdout + ended.stderr
