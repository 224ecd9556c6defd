"""The picture of a strip as a file of its own, with the style of the report."""

import re

from harness.report import drawing, page_templates

_HATCH = (
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="3" height="8" fill="#b3261e" '
    'fill-opacity=".55"/></pattern></defs>'
)
"""Pattern of the style's class `overlap`, as on the report's page."""
_VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_MARGIN = 12


def standalone(picture: str) -> str:
    """Return a picture of `report.drawing` as the content of an SVG file.

    Raises ValueError for a text that is not such a picture.
    """
    found = _VIEW_BOX.search(picture)
    if found is None or not picture.startswith("<svg "):
        raise ValueError("expected a picture with a viewBox")
    width, height = float(found[1]) + 2 * _MARGIN, float(found[2]) + 2 * _MARGIN
    box = f'viewBox="{-_MARGIN} {-_MARGIN} {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    opening, _, body = picture.replace(found[0], box, 1).partition(">")
    named = opening.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    ground = drawing.rect(-_MARGIN, -_MARGIN, width, height, kind="ground")
    return f"{named}>{_style()}{_HATCH}{ground}{body}\n"


def _style() -> str:
    """Return the report's style sheet, with the page's background for the picture."""
    style = page_templates.templates().get_template("style.css.j2").render()
    return f"<style><![CDATA[{style}.ground{{fill:var(--bg)}}]]></style>"
