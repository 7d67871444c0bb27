"""Tables 4, 5, 7, 8 and Figure 5 of Alikhani 2021: models that know relations, by how they find pictures and tell them.

``rows`` says which models there are, ``scores`` measures one, ``tables`` sets all side by side, ``comparison`` runs it.
"""
