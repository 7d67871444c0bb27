"""Pictures for a text that has none: the work of ``Linker.place``, and the forms of its result.

text ─text→ Document ┐
                     ├─joined→ Document ─Linker→ LinkedDocument ─chosen→ LinkedDocument ─output→ Markdown, page, JSON
pictures ─pictures→ images with contexts ┘
"""
