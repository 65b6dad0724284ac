"""Words from outside (a server's, a log's) made fit for a terminal: what a person sees, and nothing that steers one.

Control characters (line ends and beginnings of escape sequences among them) and characters that turn the direction of
text become spaces; the signs of every script stay. Pure.
"""


def one_line(text: str) -> str:
    """The text on one line, without anything that cannot be seen."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)
