"""Every error that iconotext raises on purpose.

A message says what is wrong, where, and what to do about it, in one line.
"""


def one_line(error: BaseException, *, kind: bool = False) -> str:
    """Return the message of an error in one line; with ``kind``, or without a message, the kind of the error."""
    message, name = " ".join(str(error).split()), type(error).__name__
    return f"{name}: {message}" if kind and message else message or name


class IconotextError(Exception):
    """Base of all errors that iconotext raises on purpose."""


class DocumentError(IconotextError):
    """A document cannot be read."""


class EmptyDocumentError(DocumentError):
    """There is nothing in a file, such as the layout of a site that is not written yet."""


class UnknownFormatError(DocumentError):
    """There is no reader for this kind of file."""


class HostileDocumentError(DocumentError):
    """A document passes a limit on size, nesting or unpacking."""


class RuleError(DocumentError):
    """A rule of the check failed at a document, to which the other rules were applied."""


class ImageError(IconotextError):
    """An image cannot be read. The document keeps it with its ``problem``."""


class OutsideError(ImageError):
    """The address of an image leads out of the folder in which images are allowed."""


class UnreachableError(ImageError):
    """A server did not answer, or was busy; the picture may be available later."""


class CorpusError(IconotextError):
    """A corpus file breaks the format; the message names file, line and field."""


class MissingPackageError(IconotextError):
    """A package is missing that comes with an extra; the message says what to install."""


class FeatureError(IconotextError):
    """A backbone is missing, or cannot be used for this purpose."""


class ShapeError(IconotextError):
    """Arrays do not fit each other; the message names both shapes."""


class TrainingError(IconotextError):
    """Training cannot continue (memory, numbers that are not finite); the message says what was kept and what helps."""


class CollapseError(TrainingError):
    """Training collapsed before anything was learned; the message says how this shows and what may help."""


class StudyError(IconotextError):
    """A study of people's preferences cannot be made or read, or a vote cannot be taken."""


class LibraryError(IconotextError):
    """An image library cannot be made, read or written."""


class SettingError(IconotextError):
    """A setting has an unknown name or a wrong value."""


class OutputError(IconotextError):
    """A result cannot be written."""


class FullDiskError(OutputError):
    """The disk is full, or may not take more; files that existed before are intact."""


class CaptionerError(IconotextError):
    """A vision model's server cannot be reached, refuses, or gives no replies; those that it gave are stored."""


class StoreError(IconotextError):
    """An object store refuses, or does not answer; finished files are complete."""
