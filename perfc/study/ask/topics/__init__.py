"""Topics of questions, collected from the files of this folder."""

from __future__ import annotations

from functools import cache

from perfc.common.declared import modules

from ..fact import Topic


@cache
def topics() -> tuple[Topic, ...]:
    """Return the topics of every file."""
    return tuple(topic for module in modules(__name__) for topic in module.TOPICS)


def topic(name: str) -> Topic:
    """Return the topic of a name."""
    return next(known for known in topics() if known.name == name)
