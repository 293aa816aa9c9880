"""The demo's one log, and the terminal beside it."""

import sys
import threading
from typing import IO

# Periodic tasks would bury the logins under a hundred lines a minute.
_ROUTINE_OF = frozenset({"worker", "beat"})


class Output:
    """Writes to the log, and to the terminal while somebody reads it."""

    def __init__(self, log: IO[bytes], *, echo: bool) -> None:
        self._log = log
        self._echo = echo
        self._lock = threading.Lock()

    def line(self, name: str, text: bytes) -> None:
        """A child's line, with the child's name before it."""
        entry = name.ljust(8).encode() + b" | " + text.rstrip(b"\n") + b"\n"
        with self._lock:
            self._log.write(entry)
            self._log.flush()
            if self._echo and not _is_routine(name, text):
                self._print(entry, sys.stdout.buffer)

    def say(self, text: str) -> None:
        """Our own words: to people in the terminal, beside the answer of --check."""
        with self._lock:
            self._log.write(f"demo     | {text}\n".encode())
            self._log.flush()
            stream = sys.stdout if self._echo else sys.stderr
            self._print((text + "\n").encode(), stream.buffer)

    def _print(self, entry: bytes, stream: IO[bytes]) -> None:
        try:
            stream.write(entry)
            stream.flush()
        except OSError:
            self._echo = False  # the reader of our output left; the log still has it all


def _is_routine(name: str, text: bytes) -> bool:
    """Whether a line only belongs into the log."""
    return name in _ROUTINE_OF and b"[info " in text
