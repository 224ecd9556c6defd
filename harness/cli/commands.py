"""The `flake-hunt` command: its subcommands, error messages and exit codes."""

import importlib
import inspect
import io
import keyword
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from harness import errors, writing
from harness.cli import defaults, helps, interruptions, options, removed, run_paths
from harness.cli.terminal import annotations, outputs
from harness.report import escaping

USAGE = 2
EPILOG = (
    "Exit codes: 0 valid, 10 invalid (a violation was found), 20 unknown (inconclusive), 2 usage or configuration error, "
    "1 internal error, 130 interrupted."
)

PANELS = {
    "Begin here": "test",
    "Run": "run hunt explore/replay confirm reproduce watch",
    "Judge and compare": "check/report explain compare/query serve/pack",
    "Set up": "init/import/scenarios defects doctor/cluster driver-test shards part",
}
"""Panel of the help -> its commands; those that are joined by / are in the module of the first."""
MODULES = [(panel, names.split("/")) for panel, all_ in PANELS.items() for names in all_.split()]


def make_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the command with the module of the subcommand that the first argument names.

    Without such an argument it has all subcommands. A run starts about eight processes: each pays
    for the options of every subcommand that it has.
    """
    app = typer.Typer(
        name="flake-hunt",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        cls=helps.Group,
        context_settings={"help_option_names": helps.NAMES},
    )
    app.callback()(_options)
    chosen = [item for item in MODULES if {*arguments[:1]} & {*item[1]}]
    for panel, names in chosen or MODULES:
        _add(app, names, panel)
    _settle(app)
    return app


def _add(app: typer.Typer, names: Sequence[str], panel: str) -> None:
    """Add the functions with these names, or groups of functions, of the module of the first."""
    words = [name.replace("-", "_") for name in names]
    module = importlib.import_module(f"harness.cli.subcommands.{words[0]}_command")
    for name, word in zip(names, words, strict=True):
        found = getattr(module, f"{word}_" if keyword.iskeyword(word) else word)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, rich_help_panel=panel)
            continue
        app.command(
            name,
            help=getattr(module, "HELP", {}).get(name),
            epilog=getattr(module, "EPILOG", None),
            rich_help_panel=panel,
        )(found)


def _settle(app: typer.Typer) -> None:
    """Typer keeps the line breaks of all paragraphs of a docstring but the first."""
    for command in app.registered_commands:
        command.cls = helps.Command
        if command.help is None and command.callback is not None:
            paragraphs = inspect.cleandoc(command.callback.__doc__ or "").split("\n\n")
            command.help = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    for group in app.registered_groups:
        group.cls = helps.Group
        if group.typer_instance is not None:
            _settle(group.typer_instance)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib import metadata

        print(f"flake-hunt {metadata.version('flake-hunt')}")
        raise typer.Exit


def _options(
    *,
    version: bool = options.flag(
        "Print the version and exit.", "--version", callback=_show_version, is_eager=True
    ),
) -> None:
    """Did a Kubernetes scheduler ever give one device to two claims?"""
    del version


def run(misuse: int = USAGE) -> int:
    """Run the command; return the exit code, `misuse` for one that cannot be read."""
    if sys.argv[1:] and sys.argv[1] in removed.COMMANDS:
        return _complain(
            f"{sys.argv[1]} is no command any more: {removed.COMMANDS[sys.argv[1]]}", USAGE
        )
    app = make_app(sys.argv[1:])  # imports: an interruption must still end the process at once
    try:
        interruptions.raise_from_now_on()
        _print_on_any_terminal()
        outputs.be_lenient()
        command = typer.main.get_command(app)
        with run_paths.packs_removed():
            known = {name: defaults.of_command(name) for name in sys.argv[1:2]}
            code = command(prog_name="flake-hunt", standalone_mode=False, default_map=known)
        sys.stdout.flush()
    except errors.HarnessError as error:
        message = run_paths.readable(str(error))
        annotations.error(f"flake-hunt {type(error).__name__}", message)
        return _complain(message, type(error).exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _complain(interruptions.MESSAGE, interruptions.EXIT_CODE)
    except typer.Exit as ending:
        return int(ending.exit_code)
    except OSError as error:
        return _complain_of_writing(error)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is printed already
            return USAGE
        return _complain(_message(error) + _hint(error), misuse)
    if code == interruptions.EXIT_CODE:  # typer's translation of KeyboardInterrupt
        return _complain(interruptions.MESSAGE, code)
    return code if isinstance(code, int) else 0


def _print_on_any_terminal() -> None:
    """Print `?` for characters that the encoding of stdout lacks, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors != "backslashreplace":
        sys.stdout.reconfigure(errors="replace")


def _complain_of_writing(error: OSError) -> int:
    if not writing.is_of_writing(error):
        raise error
    if error.filename is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    explained = writing.explain(error)
    return _complain(str(explained), type(explained).exit_code)


def _message(error: Any) -> str:
    option = getattr(error, "option_name", "")
    instead = option and removed.instead_of(
        option, error.ctx.command_path.removeprefix("flake-hunt ")
    )
    if instead:
        return f"{option} is no option any more: {instead}"
    cause = error.__cause__
    if not hasattr(cause, "errors"):
        return str(error.format_message())
    from harness.scenario.toml_files import documents

    (details, *_) = cause.errors(include_url=False)
    option = (
        " / ".join(error.param.opts) if error.param.opts[0].startswith("-") else error.param.name
    )
    if details["type"] == "value_error":
        return f"{option}: {details['ctx']['error']}"
    return f"{option}: {documents.expectation(details)}"


def _hint(error: Any) -> str:
    """Of several arguments that are missing, the one that is named may be another."""
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    is_missing = type(error).__name__ == "MissingParameter"
    usage = f"\n{context.get_usage()}" if is_missing else ""
    return f"{usage}\nTry: {context.command_path} --help"


def _complain(message: str, code: int) -> int:
    print(f"flake-hunt: {escaping.visible(message)}", file=sys.stderr)
    return code
