"""Text nodes and image nodes for LlamaIndex, from Markdown files: pictures_in_llama_index.py [FILE...].

Prints

    ImageNode seesaw.svg: ...
"""

import sys
from pathlib import Path

from llama_index.core import Document

from iconotext.adapters.llama_index import PictureNodeParser

files = [Path(file) for file in sys.argv[1:]] or [Path(__file__).with_name("levers") / "levers.md"]
documents = [Document(text=file.read_text("utf-8"), metadata={"file_path": str(file)}) for file in files]
for node in PictureNodeParser(words=200).get_nodes_from_documents(documents):
    print(f"{node.class_name()} {node.metadata.get('source', '')}: {node.text[:60]!r}")
