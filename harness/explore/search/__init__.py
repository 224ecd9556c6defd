"""Search for failing interleavings.

The system that is explored belongs in `worlds`; files and pages belong in `output`.
"""
