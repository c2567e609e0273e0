"""Accounts in SQLite: the bugs are a transfer that fails half-way and keeps the first half, and a fee that is rounded down."""
from .store import Store
from .fees import fee, parse

__all__ = ["Store", "fee", "parse"]
