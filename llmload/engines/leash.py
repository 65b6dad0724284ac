"""Runs a command for as long as somebody holds the other end of this program's standard input.

`python -m llmload.engines.leash COMMAND …`: when standard input ends (its holder closed it, left, or was killed in
whatever way) the command gets SIGTERM, and SIGKILL three seconds later. Ends with the command's exit code when the
command ends by itself. Knows nothing of what it runs.
"""

import os
import signal
import subprocess
import sys
import threading

PATIENCE_S = 3.0
"""How long a command may take to end by itself."""


def main(command: list[str]) -> int:
    """Run the command; returns its exit code, 128 + the signal's number if one ended it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the holder, who then lets go
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    threading.Thread(target=let_go, args=(child,), daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 128 - code


def let_go(child: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of standard input, then end the child."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    child.terminate()
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
