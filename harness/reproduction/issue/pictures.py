"""The picture of a double allocation as a file of its own."""

import re

from harness.report import drawing, page_templates

FILE = "strip.svg"
"""Name of the picture's file in the folder."""
_HATCH = (
    '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="3" height="8" fill="#b3261e" '
    'fill-opacity=".55"/></pattern></defs>'
)
"""Pattern of the style's class `overlap`, as on the report's page."""
_OPENING = re.compile(r'<svg class="plot" width="100%" height="([\d.]+)"')
_WIDTH, _MARGIN = 960, 12
"""Pixels."""


def standalone(picture: str) -> str:
    """Return a picture of `report.drawing` as the content of an SVG file.

    Raises ValueError for a text that is not such a picture.
    """
    found = _OPENING.match(picture)
    if found is None:
        raise ValueError("expected a picture of harness.report.drawing")
    height = float(found[1])
    inner = f'<svg class="plot" x="{_MARGIN}" y="{_MARGIN}" width="{_WIDTH}" height="{height:g}"'
    width, height = _WIDTH + 2 * _MARGIN, height + 2 * _MARGIN
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}">'
    ground = drawing.rect(0, 0, drawing.WIDTH, height, kind="ground")
    return f"{opening}{_style()}{_HATCH}{ground}{inner}{picture[found.end() :]}</svg>\n"


def _style() -> str:
    style = page_templates.templates().get_template("style.css.j2").render()
    return f"<style><![CDATA[{style}.ground{{fill:var(--bg)}}]]></style>"
