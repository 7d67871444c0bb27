"""``python -m iconotext`` is the program ``iconotext``."""

from iconotext.cli.app import main

main()
