"""What can be asked of a report: topics in files, found by looking."""

from __future__ import annotations

from functools import cache

from perfc.declared import modules

from ..fact import Topic


@cache
def topics() -> tuple[Topic, ...]:
    """Those of every file."""
    return tuple(topic for module in modules(__name__) for topic in module.TOPICS)


def topic(name: str) -> Topic:
    """The one of that name."""
    return next(known for known in topics() if known.name == name)
