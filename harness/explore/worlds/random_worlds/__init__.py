"""Random worlds: a number determines the objects, actors, events, faults and oracles of a world.

A world `random-1234` is drawn from its number alone, so that its name and sizes reproduce it. Each
of its parts is a size of 1, which shrinking lowers to 0. The fingerprint of a token covers the
drawn parts, so that a changed drawing refuses tokens of earlier worlds.

The choice of interleavings belongs in `search`.
"""
