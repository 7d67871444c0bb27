"""Options of commands: options that several commands share, and options made from a class of settings.

A command takes its settings as one parameter, and ``settings_options`` puts an option for each field in its place::

    @settings_options
    def link(
        paths: Annotated[list[str], typer.Argument()],
        linking: Annotated[LinkSettings, SettingsPanel("Linking", without=("relations",))],
    ) -> None: ...

An option has the name of the field, with dashes. Type, choices, bounds and default are the field's; the help is the
docstring below it (``use_attribute_docstrings`` in the class's ``ConfigDict``).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce, wraps
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from iconotext.cli import complete
from iconotext.cli.common import known_errors
from iconotext.decide.settings import Choices
from iconotext.linker import LinkSettings
from iconotext.read import ReadSettings
from iconotext.recipe.toml import make_settings


def option(*flags: str, help: str, **more: Any) -> Any:
    """A ``typer.Option`` whose help states the default in words."""
    return typer.Option(*flags, help=help, show_default=False, **more)


def argument(help: str | None = None, **more: Any) -> Any:
    """A ``typer.Argument`` that is required, or whose help states the default."""
    return typer.Argument(help=help, show_default=False, **more)


CorpusOutput = Annotated[Path, option("--output", "-o", help="The corpus to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes; the result is the same for any number.", show_default="all cores")
]
CalibrationCorpus = Annotated[
    Path | None,
    option(
        "--calibration",
        metavar="CORPUS",
        help="Documents whose links you know are right, to make the promise of --max-false from.",
        exists=True,
    ),
]
Model = Annotated[
    str,
    typer.Option(
        help="Name or folder of a model: default, photographs, or a dual encoder such as CLIP.",
        autocompletion=complete.models,
    ),
]
RecipeKeys = Annotated[
    list[str] | None,
    option(
        "--set",
        metavar="KEY=VALUE",
        help="Another value for a key of the recipe, such as training.epochs=10; may be given several times.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Tell only of errors.")]
Seed = Annotated[int, typer.Option(help="Seed of the random choices.")]
Download = Annotated[
    bool, typer.Option("--download", help="Fetch a model that is named and not here from the Hugging Face hub.")
]


def _for_all_processes(variable: str) -> Callable[[Any], Any]:
    """A callback that puts an option's value into the environment, for processes that the program starts."""

    def put(value: Any) -> Any:
        if value is not None:
            os.environ[variable] = str(value)
        return value

    return put


Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        callback=_for_all_processes("ICONOTEXT_THREADS"),
        expose_value=False,
        help="Threads that encode (default: ICONOTEXT_THREADS, else the cores that are free to this process). "
        "The result is the same for any number.",
        show_default=False,
    ),
]
"""For commands that encode; the value need not be used."""

Runtime = Annotated[
    str | None,
    typer.Option(
        callback=_for_all_processes("ICONOTEXT_RUNTIME"),
        expose_value=False,
        help="What computes the encoders that ship: onnx, torch, or auto, which is torch where there is a GPU for it "
        "(default: ICONOTEXT_RUNTIME, else auto).",
        show_default=False,
    ),
]
"""For commands that encode; the value need not be used."""

SCALARS = (int, float, str, Path)
"""Types of fields, and of members of tuples, that options can have directly."""


@dataclass(frozen=True)
class SettingsPanel:
    """How a class of settings becomes options.

    Attributes:
        only: Fields that become options; () for all.
        without: Fields that do not become options.
        names: Field to the name of its option without leading dashes, if it differs.
        short: Field to a second, short name of its option, with a dash.
        defaults: Field to a default that differs from the class's.
        more: Field to further arguments of ``typer.Option``, such as ``metavar`` and ``autocompletion``.
    """

    title: str
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def fields(self, kind: type[BaseModel]) -> dict[str, FieldInfo]:
        """The fields that become options, without fields that pydantic excludes from output."""
        unknown = {*self.only, *self.without, *self.names, *self.defaults, *self.more} - set(kind.model_fields)
        if unknown:
            raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
        chosen = self.only or kind.model_fields
        return {
            name: kind.model_fields[name]
            for name in chosen
            if name not in self.without and kind.model_fields[name].exclude is not True
        }

    def flag(self, name: str) -> str:
        """The name of a field's option, without leading dashes."""
        return self.names.get(name, name.replace("_", "-"))


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's settings parameters, which have a ``SettingsPanel`` in ``Annotated``, by options.

    In the settings that the command gets, only those fields count as set (``model_fields_set``) that the user gave: on
    the command line, in the environment or in a file. A wrong value ends the program with a line that names the option.

    Raises:
        TypeError: Two options have the same name, or a field has a type that options cannot have.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = {"context_": inspect.Parameter("context_", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)}
    made: dict[str, tuple[type[BaseModel], SettingsPanel, dict[str, str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind, *others = get_args(hints[parameter.name]) or (None,)
        panel = next((each for each in others if isinstance(each, SettingsPanel)), None)
        if panel is None:
            found = {parameter.name: parameter.replace(annotation=hints[parameter.name])}
        else:
            options = {f"{parameter.name}_{name}": name for name in panel.fields(kind)}
            made[parameter.name] = kind, panel, options
            found = {option: _option(option, kind, name, panel) for option, name in options.items()}
        parameters |= {name: each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, each in found.items()}
    _check_names(command, parameters.values())

    @wraps(command)
    def run(*, context_: typer.Context, **values: Any) -> None:
        def is_given(option: str) -> bool:
            source = context_.get_parameter_source(option)
            return source is not None and source.name != "DEFAULT"

        with known_errors(status=2):  # as Typer does for its own errors
            for parameter, (kind, panel, options) in made.items():
                found = {name: _plain(kind, name, values.pop(option)) for option, name in options.items()}
                given = {name: found[name] for option, name in options.items() if is_given(option)}
                called = {name: f"--{panel.flag(name)}" for name in options.values()}
                made_of = make_settings(kind, {**panel.defaults, **given}, called)
                values[parameter] = kind.model_construct(_fields_set=set(given), **dict(made_of))
        command(**values)

    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]  # Typer reads it there
    run.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    return run


def _option(option: str, kind: type[BaseModel], name: str, panel: SettingsPanel) -> inspect.Parameter:
    info = kind.model_fields[name]
    annotation, extra = _type(kind, name)
    default = panel.defaults.get(name, info.get_default(call_default_factory=True))
    if isinstance(default, tuple):
        default = [",".join(map(str, default))] if _choices(info.annotation) else list(default)
    flag = f"--{panel.flag(name)}"
    settings: dict[str, Any] = {
        "help": " ".join((info.description or "").replace("``", "`").split()),
        "rich_help_panel": panel.title,
        "show_default": default not in (None, False, []),
        "min": next((each.ge for each in info.metadata if isinstance(each, Ge)), None),
        "max": next((each.le for each in info.metadata if isinstance(each, Le)), None),
        **extra,
        **panel.more.get(name, {}),
    }
    flags = [f"{flag}/--no-{flag[2:]}" if annotation is bool else flag]
    flags += [panel.short[name]] if name in panel.short else []
    declared = typer.Option(*flags, **settings)
    if info.is_required() and name not in panel.defaults:
        default = inspect.Parameter.empty
    elif default is None or default == []:
        default, annotation = None, annotation | None
    return inspect.Parameter(
        option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, declared]
    )


def _type(kind: type[BaseModel], name: str) -> tuple[Any, dict[str, Any]]:
    annotation = _without_none(kind.model_fields[name].annotation)
    choices = _choices(annotation)
    if get_origin(annotation) is tuple:
        member = get_args(annotation)[0]
        if choices:
            return list[str], {"autocompletion": lambda incomplete: _one_more(incomplete, choices)}
        if member in SCALARS:
            return list[member], {}  # type: ignore[valid-type]  # known only when it runs
    elif choices:
        return StrEnum(name, {choice: choice for choice in choices}), {}
    elif annotation is bool or annotation in SCALARS:
        return annotation, {}
    raise TypeError(f"{kind.__name__}.{name}: no option for {annotation}; leave it out of the panel")


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    return reduce(or_, (each for each in get_args(annotation) if each is not NoneType))


def _choices(annotation: Any) -> dict[str, Any]:
    """Possible texts of a ``Literal``, a union or tuple of such, to their values."""
    if get_origin(annotation) is Literal:
        return {str(value): value for value in get_args(annotation)}
    if get_origin(annotation) is Annotated:
        return {name: name for each in get_args(annotation) if isinstance(each, Choices) for name in each.names()}
    if get_origin(annotation) in (Union, UnionType, tuple):
        members = [_choices(each) for each in get_args(annotation) if each not in (NoneType, ...)]
        return {key: value for each in members for key, value in each.items()} if all(members) else {}
    return {}


def _one_more(incomplete: str, choices: Mapping[str, Any]) -> list[str]:
    """The remaining choices, each after those that were already typed, with commas between."""
    *typed, _ = incomplete.split(",")
    return [",".join((*typed, choice)) for choice in choices if choice not in typed]


def _plain(kind: type[BaseModel], name: str, value: Any) -> Any:
    """The field's value for an option's value; one that is no choice is unchanged, so that the field reports it."""
    choices = _choices(kind.model_fields[name].annotation)
    if isinstance(value, list):
        typed = [part.strip() for each in value for part in each.split(",")] if choices else value
        return tuple(choices.get(part, part) for part in typed)
    return choices[value.value] if isinstance(value, StrEnum) else value


def _check_names(command: Callable[..., None], parameters: Iterable[inspect.Parameter]) -> None:
    names = [name for parameter in parameters for name in _flags(parameter)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TypeError(f"{command.__name__}: two options are called {', '.join(twice)}")


def _flags(parameter: inspect.Parameter) -> list[str]:
    declared = next((each for each in getattr(parameter.annotation, "__metadata__", ())), None)
    if isinstance(declared, typer.models.ArgumentInfo) or parameter.annotation is typer.Context:
        return []
    found = [declared.default, *(declared.param_decls or ())] if isinstance(declared, typer.models.OptionInfo) else []
    flags = [part for each in found if isinstance(each, str) for part in each.split("/")]
    return flags or [f"--{parameter.name.replace('_', '-')}"]


READING = SettingsPanel(
    "Reading",
    more={
        "root": {"exists": True, "file_okay": False},
        "include": {"metavar": "PATTERN"},
        "exclude": {"metavar": "PATTERN"},
    },
)
Reading = Annotated[ReadSettings, READING]
"""How documents are read."""

LINKING = SettingsPanel(
    "Linking",
    more={"evidence": {"metavar": "KIND,..."}, "select": {"metavar": "RULE"}, "max_false": {"metavar": "SHARE"}},
)
Linking = Annotated[LinkSettings, LINKING]
"""How documents are linked."""


class Split(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"
