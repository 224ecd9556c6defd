"""A run whose names mean something to a terminal, to HTML, Markdown, XML and rich."""

import json
import pathlib
import re

from harness.history import directories
from tests.histories import building

CONTROLS = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eflow\x7f\x0b\ufffe"
MARKUP = "[red]red[/red][/] <img src=x onerror=alert(1)> ]]> &lt; | [x](http://y) @all #1 `a` **b** ' \" onfocus=alert(2)"
EVIL = f"{CONTROLS}{MARKUP}"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that no output may contain."""


def build(path: pathlib.Path) -> directories.RunDirectory:
    steps = [
        building.step(number, f"thread{EVIL}", f"step{EVIL}", number, **{f"key{EVIL}": EVIL})
        for number in range(3)
    ]
    made = building.build(
        path,
        "a+D1 /lose-response:a p* a^p b+D1 b^q q*",
        names={name: f"{name}{EVIL}" for name in ("a", "b", "D1", "p", "q")},
        steps=steps,
        scenario=f"scenario{EVIL}",
        remedies=[f"remedy{EVIL}"],
    )
    made.cluster.write_text(json.dumps({"name": EVIL, "versions": {EVIL: EVIL}}))
    return made
