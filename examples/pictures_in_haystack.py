"""Chunks with their pictures in a pipeline of Haystack: pictures_in_haystack.py [PATH...].

Prints

    '4.2 Levers...
"""

import sys
from pathlib import Path

from haystack import Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from iconotext.adapters.haystack import PictureConverter

sources = sys.argv[1:] or [str(Path(__file__).with_name("levers"))]
store = InMemoryDocumentStore()
pipeline = Pipeline()
pipeline.add_component("convert", PictureConverter(words=200))
pipeline.add_component("write", DocumentWriter(document_store=store))
pipeline.connect("convert.documents", "write.documents")
pipeline.run({"convert": {"sources": sources}})
for document in store.filter_documents():
    print(f"{document.content[:60]!r}: {[image['source'] for image in document.meta['images']]}")
