"""Forms of pairwise data: frames and columns become the codes and counts that `Comparisons` holds."""

from __future__ import annotations

from podium.labels import encode, encode_pair

__all__ = ["encode", "encode_pair"]
