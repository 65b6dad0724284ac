"""Watching a run from outside: its run folder's files are followed, nothing is asked of those who write them."""
