"""The program ``iconotext`` from its first moment, before the package, which takes a quarter of a second, is there."""

import signal


def main() -> None:
    """Run the program; an interruption before it has begun ends it without a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from iconotext.cli.app import main as run

    signal.signal(signal.SIGINT, before)
    run()
