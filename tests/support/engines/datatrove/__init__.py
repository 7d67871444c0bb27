"""datatrove: a step is an object with ``run``, from documents to documents."""
