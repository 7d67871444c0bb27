"""The evidence about links: one module for each kind of evidence.

Begin with ``gather.gather_evidence``, which computes all kinds but layout for a batch of documents. ``habit`` infers
where authors put images; ``layout`` turns this into evidence.
"""
