"""The core's named random streams, which give this engine the simulator's start times.

Source: crates/core/src/rng.rs. PCG32 expands the FNV-1a hash of seed and name to the seed of
PCG64-MCG (O'Neill 2014), as `rand_core` does for 64-bit seeds. A test in tests/validation compares
the streams with the simulator's.
"""

from __future__ import annotations

_U32, _U64, _U128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_MULTIPLIER = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645
_SEED_MULTIPLIER = 6_364_136_223_846_793_005
_SEED_INCREMENT = 11_634_580_027_462_260_723


class Stream:
    """The random stream `name` of a run with the seed `seed`."""

    def __init__(self, seed: int, name: str) -> None:
        state, words = _fnv(seed.to_bytes(8, "little") + name.encode()), []
        for _ in range(4):
            state = (state * _SEED_MULTIPLIER + _SEED_INCREMENT) & _U64
            mixed = (((state >> 18) ^ state) >> 27) & _U32
            words.append(_turned(mixed, state >> 59, 32))
        self._state = sum(word << (32 * place) for place, word in enumerate(words)) | 1

    def bits(self) -> int:
        """Draws 64 bits."""
        self._state = self._state * _MULTIPLIER & _U128
        folded = ((self._state >> 64) ^ self._state) & _U64
        return _turned(folded, self._state >> 122, 64)

    def below(self, bound: int) -> int:
        """Draws an integer from 0 to `bound` - 1."""
        return self.bits() * bound >> 64


def _fnv(data: bytes) -> int:
    value = 0xCBF2_9CE4_8422_2325
    for byte in data:
        value = (value ^ byte) * 0x100_0000_01B3 & _U64
    return value


def _turned(value: int, by: int, width: int) -> int:
    """Rotates `value`, which has `width` bits, right by `by` bits."""
    by %= width
    return (value >> by | value << (width - by)) & ((1 << width) - 1)
