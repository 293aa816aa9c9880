"""The garbage collector of a process that serves."""

import gc

YOUNG_MAX = 50_000
"""Objects made before the collector looks; a batch makes hundreds of thousands."""


def leave_loaded() -> None:
    """Have the collector leave alone what is loaded by now: it stays for good, and looking at it
    again and again took a quarter of a single command's time and half of a batch's. What commands
    make holds no circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, 20, 100)
