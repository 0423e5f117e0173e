"""What the tests compare perfc with: runtimes that execute, loops that count, claims that hold.

Each module that has a ``main`` also runs alone, on more cases than the suite has time for, from the
repository's root: ``python -m tests.oracles.sweep``.
"""
