"""The program of the executable. It also stands for Python where iconotext starts another process of itself."""

import multiprocessing
import sys

if __name__ == "__main__":
    multiprocessing.freeze_support()
    if sys.argv[1:3] == ["-P", "-c"]:  # the process that reads files, see iconotext.system.worker
        code = sys.argv[3]
        sys.argv = ["-c", *sys.argv[4:]]
        exec(code)  # of iconotext itself: whoever can give it could as well give it to any Python
    else:
        from iconotext_program import main

        main()
