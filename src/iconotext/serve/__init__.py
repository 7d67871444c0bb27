"""``iconotext serve``: read linked documents in the browser, and correct their links. Local by default.

Begin with ``app``, which builds the application. ``guard`` checks every request, ``jobs`` chooses the next work,
``pool`` has the processes that read and link (``work``), and ``store`` is the database, which survives a crash. The
modules with routes are ``pages``, ``collections``, ``alt_text``, ``search``, ``study`` and ``api``. The reading view is
from ``report``.
"""
