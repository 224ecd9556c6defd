"""Search for failing interleavings: strategies, campaigns, shrinking, replay tokens.

The system that is explored belongs in `worlds`; files and pages belong in `output`.
"""
