"""Where all chance comes from: the seed, the number of the request, and what is drawn. Nothing else.

Each purpose has a sequence of its own, so that another distribution of times fails the same requests.
"""

from random import Random


def sequence(seed: int, number: int, purpose: str) -> Random:
    """The random numbers for one purpose of one request."""
    return Random(f"{seed}/{number}/{purpose}")  # noqa: S311  (must be repeatable, need not be secret)
