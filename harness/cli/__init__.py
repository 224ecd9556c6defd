"""The command line: options in, exit code out, and the only `print`.

No decisions here. Commands import what they need when they run, so that `--help` is quick and nobody's import patches anybody else.
"""
