"""``iconotext serve``: read linked documents in the browser, and correct their links. Local by default.

Begin with ``routes``, the table of all pages and addresses, and ``app``, which builds the application from it.
``guard`` checks every request, ``jobs`` chooses the next work, and ``store`` is the database, which survives a crash.
``pool`` has the processes; what runs in them is in ``work`` and the modules that end in ``_work``, which import nothing
of the web framework: a process would load it in vain. The reading view is from ``report``.
"""
