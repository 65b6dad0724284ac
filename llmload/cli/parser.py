"""How a command tells of words that it does not understand: in one sentence, without a page of usage before it."""

import argparse
from typing import NoReturn

from llmload.exits import Exit


class Parser(argparse.ArgumentParser):
    """As argparse has it, but for that."""

    def error(self, message: str) -> NoReturn:
        """Leave with the sentence."""
        self.exit(Exit.USAGE, f"{self.prog}: {message}; {self.prog} --help tells more\n")
