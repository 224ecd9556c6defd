"""x"""

from harness.history import directories


def render(directory: directories.RunDirectory) -> None:
    """Write."""
    del directory
