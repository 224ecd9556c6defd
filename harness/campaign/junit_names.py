"""Names in junit.xml: those of scenarios and subjects, and no paths of this machine.

pytest names cases by its file, and adds the properties by which results come from its workers.
"""

import os
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from harness import writing
from harness.campaign import campaign_plan

SUITE = "flake-hunt"
_PACKAGE = pathlib.Path(__file__).parents[2]


def classname(run: campaign_plan.PlannedRun) -> str:
    """Return scenario and subject, as junit.xml of a single run names its cases."""
    return f"{run.title} ({run.subject})"


def portable(text: str, folder: pathlib.Path) -> str:
    """Return a text without the paths above the reports, the package, Python and temporary files.

    `folder` is that of the campaign in a folder of reports.
    """
    roots = {folder.resolve().parent.parent, _PACKAGE, pathlib.Path(sys.prefix)}
    roots |= {pathlib.Path(sys.base_prefix), pathlib.Path.cwd(), pathlib.Path.home()}
    roots.add(pathlib.Path(tempfile.gettempdir()))
    for root in sorted(map(str, roots), key=len, reverse=True):
        text = text.replace(root.rstrip(os.sep) + os.sep, "") if root != os.sep else text
    return text


def rename(path: pathlib.Path, planned: Iterable[campaign_plan.PlannedRun]) -> None:
    """Give the cases of pytest's file in a campaign's folder these names, if there is one."""
    if not path.is_file():
        return
    root = ET.parse(path).getroot()  # noqa: S314 - our own file
    root.set("name", SUITE)
    classes = {run.id: classname(run) for run in planned}
    for case in root.iter("testcase"):
        case.set("classname", classes.get(case.get("name", ""), SUITE))
        for part in list(case):
            if part.tag == "properties":
                case.remove(part)
                continue
            part.text = portable(part.text or "", path.parent)
            if "message" in part.attrib:
                part.set("message", portable(part.attrib["message"], path.parent))
    writing.replace(path, ET.tostring(root, encoding="utf-8", xml_declaration=True))
