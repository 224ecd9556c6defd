"""Effects of the kinds of faults, by which checks explain or excuse violations."""

import enum


class Effect(enum.Enum):
    """The effect of a kind of fault."""

    OTHER = enum.auto()
    LOST_WRITE = enum.auto()
    """A write is not carried out."""
    LOST_ANSWER = enum.auto()
    """A write is carried out, and its sender does not know it, or not in time."""
    LATE_WRITE = enum.auto()
    """A write is carried out later than its sender may live."""
    CONFLICT = enum.auto()
    """Another client changes an object, so that writes to it fail."""
    DROPPED_FIELDS = enum.auto()
    """Another client writes an object without the fields that it does not know."""
    MOVED_CLAIM = enum.auto()
    """Another client gives a claim another device."""
    LATE_EVENT = enum.auto()
    ENDED_WATCH = enum.auto()
    OLD_STATE = enum.auto()
    """A read shows a state from before."""
    RESTART = enum.auto()
    """A process starts again and has lost its memory."""
    PAUSE = enum.auto()
    TAKE_OVER = enum.auto()
    """Another process takes the place of one."""
    API_SERVER = enum.auto()
    """The API server starts again."""
    LOST_NODE = enum.auto()
    REBOOT = enum.auto()
    """A node has lost its containers, and what its driver has prepared for them."""
