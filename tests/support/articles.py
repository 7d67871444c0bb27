"""Texts of documents."""

from __future__ import annotations

ARTICLE = """# Trams

A red tram waits at the stop. The driver drinks coffee. Figure 1 shows it.

![A red tram at a stop](one.png)
*Figure 1: A red tram.*

## Cats

A cat sleeps on the roof of the depot. Nobody wakes it.

![A sleeping cat](two.png)

![Gone](gone.png)
"""
"""Two pictures with their sentences, and one that is not there."""

ASCIIDOC = """= Trams
A. Uthor <a@example.org>
v1.0
:imagesdir: img
:town: Basel & Bern

Trams of {town}, see <<old>>, xref:new[the new one] and <<b.adoc#both,both>>; not <<gone>>.(((Trams, old)))

[#old.left]
.The *old* tram
image::old.png[A tram, 300, 200]

[[new,New Tram]]
image::new.png["Red, and new", title="The new one"]

== Details [[details]]

It rings: image:bell.png[A bell] <<new>>.

* One _item_
that goes on
** within
+
image::in-item.png[]

NOTE: Take *care*.

[quote]
____
Quoted.
____

[#both]
.Two trams
====
image::l.png[]
image::r.png[]
====

.Prices
|===
|Town 2+|Price

|Bern
a|
image::cell.png[]
|===

Term:: Meaning.

----
<<old>> is code
image::code.png[]
----

[source,python]
print("code")

// A comment
[graphviz,calls]
.Who calls
....
a -> b
....
"""
"""A page of AsciiDoc with everything that its reader understands."""
