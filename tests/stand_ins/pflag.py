"""Flags as the Go programs of Kubernetes read them: what they refuse, in which words, and how they
end.

`PROGRAM_flags.txt` lists the flags of each, with their kinds.
"""

import pathlib
import re
import sys
from typing import NoReturn

HERE = pathlib.Path(__file__).parent
Flags = dict[str, str]
_NUMBER = re.compile(r"[-+]?\d+")
_BOOLS = ("", "1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")
_DURATION = re.compile(r"0|[-+]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+")


def parse(program: str, arguments: list[str]) -> Flags:
    """The flags given; a refusal comes below all that the program could be told."""
    kinds = _kinds(program)

    def refuse(message: str) -> NoReturn:
        lines = (f"      --{name} {kind}" for name, kind in kinds.items())
        print("\n".join(["Usage:", f"  {program} [flags]", "", *lines, ""]), file=sys.stderr)
        usage(message)

    given, rest = {}, list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            usage(f'"{program}" does not take any arguments, got ["{word}"]')
        name, equals, value = word.removeprefix("--").partition("=")
        if name not in kinds:
            refuse(f"unknown flag: --{name}")
        if not equals and kinds[name] != "b":
            if not rest:
                refuse(f"flag needs an argument: --{name}")
            value = rest.pop(0)
        if reason := _refusal(kinds[name], value):
            shown = "-v, --v" if name == "v" else f"--{name}"
            refuse(f'invalid argument "{value}" for "{shown}" flag: {reason}')
        given[name] = value
    return given


def usage(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(1)


def fail(message: str) -> NoReturn:
    quoted = message.replace('"', '\\"')
    print(
        f'E1121 10:00:00.000000       1 run.go:72] "command failed" err="{quoted}"', file=sys.stderr
    )
    sys.exit(1)


def require_gates(text: str) -> None:
    """End if a feature gate has no value; of an unknown one the programs only warn."""
    for gate in filter(None, text.split(",")):
        name, equals, _ = gate.partition("=")
        if not equals:
            fail(f"missing bool value for {name}")


def kubeconfig(path: str) -> str:
    """The path; end if none was given, or if it is not there."""
    if not path:
        fail(
            "invalid configuration: no configuration has been provided, try setting "
            "KUBERNETES_MASTER environment variable"
        )
    if not pathlib.Path(path).is_file():
        fail(f"stat {path}: no such file or directory")
    return path


def _kinds(program: str) -> dict[str, str]:
    lines = (HERE / f"{program.replace('-', '_')}_flags.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and line[0] != "#")


def _refusal(kind: str, value: str) -> str:
    """Why a value is refused; empty if it is not."""
    match kind:
        case "i" if not _NUMBER.fullmatch(value):
            return f'strconv.ParseInt: parsing "{value}": invalid syntax'
        case "b" if value not in _BOOLS:
            return f'strconv.ParseBool: parsing "{value}": invalid syntax'
        case "d" if not _DURATION.fullmatch(value):
            return f'time: invalid duration "{value}"'
    return ""
