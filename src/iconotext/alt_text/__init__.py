"""Alternative texts: the check of existing ones, drafts of missing ones, and writing them into documents."""
