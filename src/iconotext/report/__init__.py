"""The output of linked documents: JSON, Markdown, Parquet, a table for the terminal, and pages.

Begin with ``outputs``, the table of formats, and with ``flow``, which puts images and sentences into their order.
``reading_page`` makes the reading view, and ``page_folder`` a folder of them. ``tables`` renders the tables of all
other reports, and ``charts`` draws their charts.
"""
