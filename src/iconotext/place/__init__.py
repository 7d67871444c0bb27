"""Pictures for a text that has none: what ``Linker.place`` does, and what becomes of its result.

text ─text→ Document ┐
                     ├─joined→ Document ─Linker→ LinkedDocument ─chosen→ LinkedDocument ─output→ Markdown, page, JSON
pictures ─pictures→ images with contexts ┘
"""
