"""Roles of a model's symbolic dimensions, and the sizes assumed for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from perfc.ir import (
    Basis,
    Dim,
    DType,
    Poly,
    Shape,
    SymbolDecl,
    evaluate,
    frozen,
    interval,
    record,
    symbol,
    symbols,
)
from perfc.ir.symbolic.dim import Atom
from perfc.ir.syntax.names import symbol_name

TYPICAL: Mapping[Basis, int] = {
    Basis.BATCH: 1,
    Basis.SEQUENCE: 128,
    Basis.CACHE: 128,
    Basis.IMAGE: 224,
    Basis.LATENT: 64,
    Basis.SOUND: 16_000,
    Basis.NOTHING: 1,
}
"""Sizes assumed for each role of a symbol: tokens, pixels of a side, samples (a second at 16 kHz).

Reports always print them. The side of an image is that of ImageNet's crops, the side of a latent
that of Stable Diffusion: 512 pixels over 8.
"""

BATCH = r"batch|^n$|^b$|^bs$"
"""Names of batches."""
NAMES: tuple[tuple[str, Basis], ...] = (
    (BATCH, Basis.BATCH),
    (r"past|cache|history", Basis.CACHE),
    (r"audio|wave|sample|sound", Basis.SOUND),
    (r"seq|len|token|time|^s$|^t$|^l$", Basis.SEQUENCE),
    (r"height|width|^h$|^w$|_h$|_w$", Basis.IMAGE),
)
"""Role by pattern of a symbol's name in lower case; the first match holds, so that
``past_sequence_length`` is of a cache."""

NUMBERED = r"(s|unk__|dim_?|d)\d+"
"""Numbered names of exporters, which carry no meaning."""
CHANNELS = (1, 3)
"""Channels of an image: grey or in colors."""
CACHED = r"past|cache|present|history|(^|[._])kv"
"""Names of inputs that hold keys and values, or states, of earlier tokens."""
CROSS = r"encoder|cross"
"""Names of inputs from an encoder, whose length differs from that of the decoder."""
SOUND = r"audio|wave|speech|sound|input_values"
"""Names of inputs of sound, whose long axis counts samples."""
COMPANION = r"mask|position|token_type|segment"
"""Names of inputs that accompany tokens and have their length."""


@record
class SymbolPlace:
    """Occurrence of a symbol in the shape of an input.

    Args:
        value: name of the input.
        axis: axis of its shape that has the symbol.
        shape: all its extents.
        dtype: type of its elements.
    """

    value: str
    axis: int
    shape: Shape
    dtype: DType

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @property
    def is_mask(self) -> bool:
        """Return True for an attention mask."""
        return "mask" in self.value.lower()

    @property
    def is_cross(self) -> bool:
        """Return True for an input of another sequence than the tokens."""
        return re.search(CROSS, self.value.lower()) is not None

    @property
    def is_companion(self) -> bool:
        """Return True for an input with one element per token, such as positions."""
        return re.search(COMPANION, self.value.lower()) is not None

    @property
    def is_ids(self) -> bool:
        """Return True for the axis of tokens, as indices or embedded."""
        numbers = self.rank == 2 and not self.dtype.is_float
        return self.axis == 1 and (numbers or (self.rank == 3 and self.dtype.is_float))


@record
class Assumption:
    """Assumed size of a symbol.

    Args:
        size: the size.
        basis: role of the symbol.
        tie: extent of other symbols that it always equals; None if it is free.
    """

    size: int
    basis: Basis
    tie: Dim | None = None


@frozen
class Roles:
    """Roles of all symbols of a model.

    Args:
        places: occurrences of each symbol among the inputs, in their order.
        ranges: every symbol with its least and greatest value.
    """

    places: Mapping[str, Sequence[SymbolPlace]]
    ranges: Mapping[str, Atom | SymbolDecl]

    def place(self, key: str) -> SymbolPlace | None:
        """Return the most informative occurrence of a symbol; masks come last."""
        known = self.places.get(key, ())
        return next((p for p in known if not p.is_mask), next(iter(known), None))

    @cached_property
    def bases(self) -> dict[str, Basis]:
        """Return the role of every symbol."""
        return {key: self.basis(key) for key in self.ranges}

    def basis(self, key: str) -> Basis:
        """Return the role of a symbol, by its name or else by its occurrence."""
        place = self.place(key)
        name = symbol_name(key).lower()
        if not is_numbered(name, place):
            named = next((b for pattern, b in NAMES if re.search(pattern, name)), None)
            match named:
                # a name such as num_samples says nothing of sound by itself
                case Basis.SOUND if place is None or not is_sound(place):
                    named = None
                # latents have a height and a width as images have
                case Basis.IMAGE if place is not None and by_place(place) is Basis.LATENT:
                    return Basis.LATENT
                case _:
                    pass
            if named is not None:
                return named
        placed = Basis.NOTHING if place is None else by_place(place)
        # the first axis is no batch where the name of another one says that it is
        if placed is Basis.BATCH and place is not None:
            others = {a.key for d in place.shape for a in symbols(d)} - {key}
            if any(re.search(BATCH, symbol_name(other).lower()) for other in others):
                return Basis.NOTHING
        return placed

    def assumed(self, key: str) -> Assumption:
        """Return the assumed size of a symbol."""
        basis = self.bases[key]
        tie = self.tie(key, basis)
        if tie is None:
            return Assumption(within(self.ranges[key], TYPICAL[basis]), basis)
        env = {a.key: self.assumed(a.key).size for a in symbols(tie)}
        return Assumption(evaluate(tie, env), basis, tie)

    def tie(self, key: str, basis: Basis) -> Poly | None:
        """Return the extent that a symbol is tied to; None if it is free.

        A mask covers cache and tokens, and inputs per token are as long as the tokens. All numbered
        symbols of batches are one batch, and those of caches one length.
        """
        place = self.place(key)
        if place is None:
            return None
        name = symbol_name(key).lower()
        is_length = basis in (Basis.SEQUENCE, Basis.NOTHING)
        is_total = basis is Basis.SEQUENCE and "total" in name
        # a mask is [batch, ..., keys]: its last axis covers cache and tokens
        covers = place.is_mask and is_length and 0 < place.axis == place.rank - 1
        followed: Dim | None = None
        if (is_total or covers) and not place.is_cross:
            followed = self.tokens
            if followed is not None and self.cache is not None:
                followed = followed + self.cache
        elif is_numbered(name, place):
            match basis:
                case Basis.BATCH:
                    followed = self.batch
                case Basis.CACHE if not place.is_cross:
                    followed = self.cache
                case Basis.SEQUENCE if place.is_companion and not place.is_cross:
                    followed = self.tokens
                case _:
                    pass
        if not isinstance(followed, Poly) or key in {a.key for a in symbols(followed)}:
            return None
        return followed

    @cached_property
    def tokens(self) -> Dim | None:
        """Return the extent of the tokens; None if unknown."""
        every = (p for known in self.places.values() for p in known)
        leading = (p for p in every if p.is_ids and not p.is_companion and not p.is_cross)
        place = next(leading, None)
        return None if place is None else place.shape[1]

    @cached_property
    def cache(self) -> Poly | None:
        """Return the extent of the KV cache; None without one."""
        return self.first(Basis.CACHE)

    @cached_property
    def batch(self) -> Poly | None:
        """Return the first symbol that is a batch; None without one."""
        return self.first(Basis.BATCH)

    def first(self, basis: Basis) -> Poly | None:
        """Return the first symbol with a role, without those of other sequences."""
        for key, stands_for in self.bases.items():
            place = self.place(key)
            if stands_for is basis and place is not None and not place.is_cross:
                return symbol(symbol_name(key), self.ranges[key].lo)
        return None


def within(symbol: Atom | SymbolDecl, size: int) -> int:
    """Return the value of a symbol's range that is closest to a size."""
    hi = None if symbol.hi is None else interval(symbol.hi)[1]
    return max(size if hi is None else min(size, hi), symbol.lo)


def is_numbered(name: str, place: SymbolPlace | None) -> bool:
    """Return True for a numbered name, or one that an exporter derived from the input's name."""
    if re.fullmatch(NUMBERED, name):
        return True
    return (
        place is not None
        and re.fullmatch(rf"{re.escape(place.value.lower())}_(dynamic_axes_|d)\d+", name)
        is not None
    )


def by_place(place: SymbolPlace) -> Basis:
    """Return the role of a symbol by its occurrence, for names without meaning.

    A spatial axis of a float input is an image's only with 1 or 3 channels. The cache axis of keys
    and values has the heads before it and their width after it.
    """
    if is_cached(place):
        return Basis.CACHE
    if is_picture(place):
        return Basis.IMAGE
    if is_sound(place):
        return Basis.SOUND
    match place.axis, place.rank, place.dtype.is_float:
        case (0, rank, _) if rank > 1:
            return Basis.BATCH
        case (2 | 3, 4, True):
            # channels of a latent are a number, those of an image 1 or 3, as `is_picture` has it
            channels, height, width = place.shape[1:]
            if isinstance(height, Poly) and isinstance(width, Poly):
                return Basis.LATENT if isinstance(channels, int) else Basis.IMAGE
            return Basis.SEQUENCE
        case (1, 2, False) | (1, 3, True):
            # [batch, tokens] of indices, or [batch, tokens, width] of embeddings
            return Basis.SEQUENCE
        case (2, 3, True) if isinstance(place.shape[1], int):
            # [batch, features, time], as of spectra
            return Basis.SEQUENCE
        case (1, 2, True) if place.is_mask:
            return Basis.SEQUENCE
        case _:
            return Basis.NOTHING


def is_cached(place: SymbolPlace) -> bool:
    """Return True for the axis of tokens of a KV cache."""
    fixed = [isinstance(d, int) for d in place.shape]
    is_named = re.search(CACHED, place.value.lower()) is not None
    if not place.dtype.is_float or not (is_named or place.rank == 4):
        return False
    # [batch, heads, tokens, width], [batch, tokens, heads, width], [batch, tokens, width], and
    # [key or value, batch, heads, tokens, width]
    match place.axis, place.rank:
        case (2, 4):
            has_heads = fixed[3] and fixed[1] and place.shape[1] not in CHANNELS
            return (is_named and fixed[3]) or has_heads
        case (1, 4):
            return is_named and fixed[2] and fixed[3]
        case (1, 3):
            return is_named and fixed[2]
        case (3, 5):
            return is_named and fixed[4]
        case _:
            return False


def is_picture(place: SymbolPlace) -> bool:
    """Return True for the height or width of an image with 1 or 3 channels."""
    shape, axis = place.shape, place.axis
    if not (place.dtype.is_float or place.dtype is DType.U8):
        return False
    match place.rank:
        case 3:
            # one image without a batch: [channels, height, width], or [height, width, channels],
            # which only images in bytes have; free axes are symbols
            is_free = isinstance(shape[1], Poly)
            channels_first = (
                shape[0] in CHANNELS and axis in (1, 2) and is_free and isinstance(shape[2], Poly)
            )
            channels_last = (
                shape[2] in CHANNELS and axis in (0, 1) and isinstance(shape[0], Poly) and is_free
            )
            return channels_first or (channels_last and place.dtype is DType.U8)
        case 4:
            # axes 2 and 3 are height and width: 5 - axis is the other one
            other = shape[5 - axis] if axis in (2, 3) else 0
            channels_first = shape[1] in CHANNELS and axis in (2, 3)
            # one channel and a fixed height: a spectrum whose other axis is time
            if channels_first and shape[1] == 1 and isinstance(other, int):
                return False
            return channels_first or (shape[3] in CHANNELS and axis in (1, 2))
        case 5:
            # videos: [batch, channels or frames, frames or channels, height, width]
            return axis in (3, 4) and (shape[1] in CHANNELS or shape[2] in CHANNELS)
        case _:
            return False


def is_sound(place: SymbolPlace) -> bool:
    """Return True for the axis of audio samples: with one channel, or by the input's name."""
    if not place.dtype.is_float or place.axis == 0:
        return False
    named = re.search(SOUND, place.value.lower()) is not None
    match place.axis, place.rank:
        case (1, 2):
            # [batch, samples] could be anything without the name
            return named
        case (2, 3):
            # [batch, channels, samples], mono or stereo
            return place.shape[1] == 1 or (named and place.shape[1] == 2)
        case _:
            return False
