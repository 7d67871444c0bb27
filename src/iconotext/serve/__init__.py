"""``iconotext serve``: read linked documents in the browser, and correct their links. Local by default.

``app`` builds the application. ``guard`` checks every request, ``pool`` has the processes that read and link, ``store``
keeps what must survive a crash, ``jobs`` decides what is done next. The reading view is that of ``report``.
"""
