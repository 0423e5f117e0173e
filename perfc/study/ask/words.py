"""Tokenization of questions, and words without a meaning of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from perfc.ir.record import record

TOKEN = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?|[%$€£]|/s\b", re.IGNORECASE)
MOST_CHARACTERS = 1_000
"""Maximum number of characters of a question."""
NOISE = """
    a an the of in on for to at by with from into onto over under during within between and or
    if so then as per is are am be been being was were will would could can should shall may
    might must do does did done it its this that these those there here i me my mine we us our you
    your he she they them their what which who whom whose when where why how much many more
    any all every each one some such only just also too very about around out up down
    yes please tell give show say explain print report answer know want like get got have has had
    having need use used using run running model network graph net neural onnx inference
    machine gpu device card board hardware computer chip system perfc ms millisecond
    second sec us microsecond nanosecond minute gb gib mb mib kb kib value number figure amount
    total overall whole entire average mean typical usual current given single together
    actually really currently make going go happen come find see look most best way
    still estimate estimated now ok okay hi hello thanks thank even kind type sort part share
    percent percentage
    fraction % proportion lot main exactly available level unit cache core tensor matrix vector
    launched assumed known data stated said reported computed l1 l2 dram hbm sm wave full special
    function integer pass forward size count reach achieve deliver hit let doing s ll re ve m
    ever assume sit goes slice usage analysed analyzed allowed spent gigabyte megabyte kilobyte
    """
"""Words without a meaning of their own; phrases that contain them are matched first.

Words that invert a question, such as *not*, *without*, *least* and *first*, are not among them: a
question with one is refused unless a phrase contains it.
"""
NOISE_PHRASES = (
    "how big|large|high|low|small|good|well|bad|heavy|wide|far|deep",
    "as well",
    "at all",
    "or not",
    "at most",
    "at least",
    "relative to the total|whole",
    "everything",
)
"""Several words that ask for nothing by themselves."""
PERIODS = frozenset(("daily", "weekly", "monthly", "yearly", "nightly", "family", "supply"))
"""They end as adverbs do, and ask for something."""
KEPT = frozenset(("bus", "plus", "focus", "status", "versus", "thus", "minus", "bonus", "radius"))
"""They end in an s that is of no plural."""


@record
class Word:
    """A word of a question.

    Args:
        text: as it stands.
        stem: in lower case, without the s of a plural.
        is_noise: whether it asks for nothing by itself.
    """

    text: str
    stem: str
    is_noise: bool


def stem(word: str) -> str:
    """A word in lower case, without the s of a plural.

    >>> stem("Kernels"), stem("batches"), stem("bus"), stem("loss")
    ('kernel', 'batch', 'bus', 'loss')
    """
    low = word.lower()
    if low.endswith(("ches", "shes", "sses", "xes")):
        return low[:-2]
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "is")) and low not in KEPT:
        return low[:-1]
    return low


_NOISE_STEMS = frozenset(stem(word) for word in TOKEN.findall(NOISE))


def words_of(question: str) -> tuple[Word, ...]:
    """The words of a question; adverbs ask for nothing by themselves."""
    words = []
    for text in TOKEN.findall(question[:MOST_CHARACTERS]):
        low = stem(text)
        is_adverb = len(low) > 4 and low.endswith("ly") and low not in PERIODS
        is_noise = low in _NOISE_STEMS or is_adverb
        words.append(Word(text, low, is_noise))
    return tuple(words)


@lru_cache(8_192)
def ways(phrase: str) -> tuple[tuple[str, ...], ...]:
    """Return every spelling of a phrase, as stems."""
    return tuple(spelled(phrase))


def spelled(phrase: str) -> Iterator[tuple[str, ...]]:
    """Yield every spelling of a phrase, as stems; bars separate alternatives of a word."""
    parts = [
        [tuple(map(stem, TOKEN.findall(part))) for part in word.split("|")]
        for word in phrase.split()
    ]
    for several in product(*parts):
        yield tuple(s for part in several for s in part)


def places(words: tuple[Word, ...], phrases: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each occurrence of phrases in words."""
    stems = tuple(w.stem for w in words)
    present = set(stems)
    for wanted in dict.fromkeys(way for phrase in phrases for way in ways(phrase)):
        if not present.issuperset(wanted):
            continue
        for start in range(len(stems) - len(wanted) + 1):
            if wanted and stems[start : start + len(wanted)] == wanted:
                yield start, start + len(wanted)
