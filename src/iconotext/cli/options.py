"""Options of commands: options that several commands share, and options made from a class of settings.

A command takes its settings as one parameter, and ``settings_options`` puts an option for each field in its place::

    @settings_options
    def link(
        paths: Annotated[list[str], typer.Argument()],
        reading: ReadSettings,
        linking: Annotated[LinkSettings, Fields(without=("relations",))],
    ) -> None: ...

An option has the name of the field, with dashes. Type, choices, bounds and default are the field's; the help is the
docstring below it (``use_attribute_docstrings`` in the class's ``ConfigDict``).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
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

from iconotext.cli.common import known_errors
from iconotext.linker import LinkSettings
from iconotext.read import ReadSettings
from iconotext.recipe.toml import make_settings
from iconotext.system.plugins import Choices


def complete_models() -> list[tuple[str, str]]:
    """The models that ship, each with a description, for the Tab key."""
    return [
        ("default", "the model that ships"),
        ("photographs", "better at everyday photographs; for research only"),
        ("no-training", "the concept bridge"),
    ]


def complete_recipes() -> list[str]:
    """The names of the recipes that ship."""
    from iconotext.recipe import shipped_recipes

    return list(shipped_recipes())


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
    int | None, typer.Option(min=1, help="Processes. The result is the same for any number.", show_default="all cores")
]
Model = Annotated[
    str,
    typer.Option(
        help="Name or folder of a model. default, photographs, or a dual encoder such as CLIP.",
        autocompletion=complete_models,
    ),
]
RecipeKeys = Annotated[
    list[str] | None,
    option(
        "--set",
        metavar="KEY=VALUE",
        help="Another value for a key of the recipe. Such as training.epochs=10; may be repeated.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Seed = Annotated[int, typer.Option(help="Seed of the random choices.")]
Download = Annotated[bool, typer.Option("--download", help="Fetch a missing model from the Hugging Face hub.")]


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
        help="Threads that encode (default: all free cores). By default ICONOTEXT_THREADS, else the "
        "cores that are free to this process; the result is the same for any number.",
        show_default=False,
    ),
]
"""For commands that encode; the callback uses the value, so that the command need not."""

Runtime = Annotated[
    str | None,
    typer.Option(
        callback=_for_all_processes("ICONOTEXT_RUNTIME"),
        expose_value=False,
        help="What runs the encoders: onnx, torch or auto. It runs those that ship; auto is torch where "
        "there is a GPU for it (default: ICONOTEXT_RUNTIME, else auto).",
        show_default=False,
    ),
]
"""For commands that encode; the callback uses the value, so that the command need not."""

SCALARS = (int, float, str, Path)
"""Types of fields, and of members of tuples, that options can have directly."""


@dataclass(frozen=True)
class Fields:
    """How the fields of a class of settings become options.

    Attributes:
        only: Fields that become options; () for all.
        without: Fields that do not become options.
        names: Field to the name of its option without leading dashes, if it differs.
        short: Field to a second, short name of its option, with a dash.
        defaults: Field to a default that differs from the class's.
        more: Field to further arguments of ``typer.Option``, such as ``metavar`` and ``autocompletion``.
    """

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    short: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, kind: type[BaseModel]) -> list[str]:
        """The fields that become options, without fields that pydantic excludes from output."""
        unknown = {*self.only, *self.without, *self.names, *self.defaults, *self.more} - set(kind.model_fields)
        if unknown:
            raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
        fields = self.only or kind.model_fields
        return [name for name in fields if name not in self.without and kind.model_fields[name].exclude is not True]

    def flag(self, name: str) -> str:
        """The name of a field's option."""
        return f"--{self.names.get(name, name.replace('_', '-'))}"


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameters whose types are classes of settings by options.

    In the settings that the command gets, only those fields count as set (``model_fields_set``) that the user gave: on
    the command line, in the environment or in a file. A wrong value ends the program with a line that names the option.

    Raises:
        TypeError: A field has a type that options cannot have.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = [inspect.Parameter("context_", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    settings: dict[str, tuple[type[BaseModel], Fields, dict[str, str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        kind, chosen = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, Fields())
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        options = {f"{parameter.name}_{name}": name for name in chosen.of(kind)}
        settings[parameter.name] = kind, chosen, options
        parameters += [_option(option, kind, name, chosen) for option, name in options.items()]

    @wraps(command)
    def run(*, context_: typer.Context, **values: Any) -> None:
        def is_given(option: str) -> bool:
            source = context_.get_parameter_source(option)
            return source is not None and source.name != "DEFAULT"

        with known_errors(status=2):  # as Typer does for its own errors
            for parameter, (kind, chosen, options) in settings.items():
                plain = {option: _plain(kind, name, values.pop(option)) for option, name in options.items()}
                # A library remembers what was given, and only that. So the settings that pydantic has checked are made
                # once more, without their check: it would count the defaults of the panel as given, too.
                explicit = {name: plain[option] for option, name in options.items() if is_given(option)}
                flags = {name: chosen.flag(name) for name in options.values()}
                checked = make_settings(kind, {**chosen.defaults, **explicit}, flags)
                values[parameter] = kind.model_construct(_fields_set=set(explicit), **dict(checked))
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it there
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _option(option: str, kind: type[BaseModel], name: str, chosen: Fields) -> inspect.Parameter:
    info = kind.model_fields[name]
    annotation, extra = _type(kind, name)
    default = chosen.defaults.get(name, info.get_default(call_default_factory=True))
    if isinstance(default, tuple):  # choices are typed in one value with commas, other members one by one
        default = [",".join(map(str, default))] if _choices(info.annotation) else list(default)
    flag = chosen.flag(name)
    settings: dict[str, Any] = {
        "help": " ".join((info.description or "").replace("``", "`").split()),
        "show_default": True,
        "min": next((limit.ge for limit in info.metadata if isinstance(limit, Ge)), None),
        "max": next((limit.le for limit in info.metadata if isinstance(limit, Le)), None),
        **extra,
        **chosen.more.get(name, {}),
    }
    flags = [f"{flag}/--no-{flag[2:]}" if annotation is bool else flag, *filter(None, [chosen.short.get(name)])]
    declared = typer.Option(*flags, **settings)
    if info.is_required() and name not in chosen.defaults:
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
            return list[str], {"autocompletion": lambda incomplete: _next_choices(incomplete, choices)}
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
    return reduce(or_, (kind for kind in get_args(annotation) if kind is not NoneType))


def _choices(annotation: Any) -> dict[str, Any]:
    """Possible texts of a ``Literal``, a union or tuple of such, to their values."""
    if get_origin(annotation) is Literal:
        return {str(value): value for value in get_args(annotation)}
    if get_origin(annotation) is Annotated:
        return {name: name for kind in get_args(annotation) if isinstance(kind, Choices) for name in kind.names()}
    if get_origin(annotation) in (Union, UnionType, tuple):
        members = [_choices(kind) for kind in get_args(annotation) if kind not in (NoneType, ...)]
        return {key: value for mapping in members for key, value in mapping.items()} if all(members) else {}
    return {}


def _next_choices(incomplete: str, choices: Mapping[str, Any]) -> list[str]:
    """The remaining choices, each after those that were already typed, with commas between."""
    *typed, _ = incomplete.split(",")
    return [",".join((*typed, choice)) for choice in choices if choice not in typed]


def _plain(kind: type[BaseModel], name: str, value: Any) -> Any:
    """The field's value for an option's value; one that is no choice is unchanged, so that the field reports it."""
    choices = _choices(kind.model_fields[name].annotation)
    if isinstance(value, list):
        typed = [part.strip() for item in value for part in item.split(",")] if choices else value
        return tuple(choices.get(part, part) for part in typed)
    return choices[value.value] if isinstance(value, StrEnum) else value


READING = Fields(
    more={
        "root": {"exists": True, "file_okay": False},
        "include": {"metavar": "PATTERN"},
        "exclude": {"metavar": "PATTERN"},
    },
)
Reading = Annotated[ReadSettings, READING]
"""How documents are read."""

LINKING = Fields(more={"evidence": {"metavar": "KIND,..."}})
Linking = Annotated[LinkSettings, LINKING]
"""How documents are linked."""


class Split(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


WholeSplit = Annotated[Split | None, option(help="Split to take (default: all).")]
