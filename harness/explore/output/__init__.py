"""What is written about a found run: story, HTML page, run directory, a pytest file that reproduces it.

Nothing is explored or judged here.
"""
