"""The ground floor: files, processes, threads and stores, which know nothing of documents."""
