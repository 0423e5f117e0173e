"""All shipped configurations, read once for the tests that choose among them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from perfc.frontend.config import LanguageModel, read_config, shipped


@cache
def shipped_models() -> Mapping[str, LanguageModel]:
    return {name: read_config(name) for name in shipped()}
