"""``iconotext serve``: read linked documents in the browser, and correct their links. Local unless told otherwise.

``app`` puts it together: ``guard`` stands before everything, ``pool`` has the processes that read and link, ``store``
what must survive a kill, ``jobs`` brings both together. The reading view is that of ``report``.
"""
