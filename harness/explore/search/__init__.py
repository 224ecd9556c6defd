"""Search for failing interleavings: random and exhaustive strategies, campaigns, shrinking, replay tokens.

What is explored belongs in `worlds`; files and pages belong in `output`.
"""
