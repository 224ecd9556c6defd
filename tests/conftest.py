"""Settings for all tests."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background commands with SIGINT ignored, and child processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
