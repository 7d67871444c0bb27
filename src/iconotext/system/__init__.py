"""The system layer: files, processes, threads and object stores. It does not depend on documents."""
