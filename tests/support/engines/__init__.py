"""Stand-ins for data engines that are not installed: as much of their documented calling conventions as docs/engines.md uses.

The folder is put at the end of the search path, so that an engine that is installed is used instead.
"""
