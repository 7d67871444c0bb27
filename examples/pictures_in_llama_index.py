"""Text nodes and image nodes for LlamaIndex, from Markdown files: pictures_in_llama_index.py FILE..."""

import sys
from pathlib import Path

from llama_index.core import Document

from iconotext.adapters.llama_index import PictureNodeParser

if len(sys.argv) < 2 or not all(Path(file).is_file() for file in sys.argv[1:]):
    sys.exit(__doc__)
documents = [Document(text=Path(file).read_text(), metadata={"file_path": file}) for file in sys.argv[1:]]
for node in PictureNodeParser(words=200).get_nodes_from_documents(documents):
    print(f"{node.class_name()} {node.metadata.get('source', '')}: {node.text[:60]!r}")
