"""An example article with photographs, to see what linking does without a document of one's own."""

from iconotext.demo.article import PHOTOGRAPHS, write_demo

__all__ = ["PHOTOGRAPHS", "write_demo"]
