"""How alike two answers are. Pure.

Similarity is rapidfuzz's normalised Indel similarity over words: 2 · (words of the longest common subsequence) /
(words of both), 1 for the same words in the same order, 0 for none in common. Over words, because over characters two
unrelated English texts come to some 0.5; not Levenshtein's, in which a word that is inserted and one that is replaced
weigh the same; no partial or token-set ratio, for which an answer that leaves half out would be the same.
"""

from rapidfuzz.distance import Indel

WORDS = 4000
"""Words of each that are looked at: two answers of 4,000 words take some 10 ms."""


def identical(a: str, b: str) -> bool:
    """The same text, white space at both ends apart."""
    return a.strip() == b.strip()


def similarity(a: str, b: str) -> float:
    """From 0 to 1; two texts without a word are the same."""
    return float(Indel.normalized_similarity(a.split()[:WORDS], b.split()[:WORDS]))
