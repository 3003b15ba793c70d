"""Secrets in links: 192 random bits, of which only the hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets

__all__ = ["hash_of", "is_token", "new_token"]


def new_token() -> str:
    """A new secret, safe in a link."""
    return secrets.token_urlsafe(24)


def hash_of(token: str) -> str:
    """What is stored of it."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_token(token: str, known: str | None) -> bool:
    """Whether this is the secret with that hash; takes as long whether or not."""
    return hmac.compare_digest(hash_of(token), known or "")
