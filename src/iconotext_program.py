"""The program ``iconotext`` from its first moment, before the package is there."""

import gc
import os
import signal


def main() -> None:
    """Run the program; an interruption before it has begun ends it without a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What a short run waits for is imports: pydantic would look for plugins in every package that is installed, and
    # Python for garbage after every few hundred objects.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(50_000)
    from iconotext.cli.app import main as run

    signal.signal(signal.SIGINT, before)
    try:
        run()
    finally:
        gc.freeze()  # else Python looks for garbage in all of it once more before it ends
