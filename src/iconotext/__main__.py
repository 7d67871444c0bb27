"""``python -m iconotext`` is the program ``iconotext``."""

from iconotext_program import main

if __name__ == "__main__":
    main()
