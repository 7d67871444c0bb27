"""What turns pictures into what a library stores of them: vectors, and what they add to the relations' log-odds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import FeatureError
from iconotext.library.settings import FORMAT
from iconotext.read import Failure
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.features import FeatureCache
    from iconotext.features.backbone import ImageBackbone, Picture
    from iconotext.library.files import Found
    from iconotext.library.relations import RelationModel
    from iconotext.library.space import SearchSpace
    from iconotext.types import FloatMatrix

    Asked = Mapping[str, Any]
    Link = Callable[[Path, Path | None, Asked], Iterable[LinkedDocument | Failure]]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Encoded pictures.

    Attributes:
        vectors: (n, dim) rows of length 1; zeros for one that cannot be read.
        offsets: (n, R) what each adds to the log-odds of each relation; None without a relation model.
        problems: Why each cannot be read, None for a good one.
    """

    vectors: FloatMatrix
    offsets: FloatMatrix | None
    problems: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """How files become what a library stores.

    Attributes:
        space: The space of the library.
        link: Reads and links a document: its file, the folder that was named (None where the file itself was), and
            the settings of reading and linking that were asked for.
        asked: Those settings, by the path that they were asked for; they hold for what lies below, too. When they
            change, documents are read again.
        relation_model: None stores no relations.
        pooled: The default image backbone, which the relation model knows; needed where the space has another one.
    """

    space: SearchSpace
    link: Link
    asked: Mapping[str, Asked] = field(default_factory=dict)
    relation_model: RelationModel | None = None
    pooled: ImageBackbone | None = None

    @property
    def relation_name(self) -> str:
        """Name of the relation model, empty without one."""
        return "" if self.relation_model is None else self.relation_model.name

    def asked_of(self, document: Path) -> Asked:
        """The settings of reading and linking that were asked for a document."""
        return asked_of(self.asked, document)

    def looked_at(self, file: Found) -> str:
        """Names how a file is looked at: what was looked at in another way must be looked at again."""
        asked = [dict(self.asked_of(file.path))] if file.kind == "document" else []
        return json.dumps([FORMAT, self.relation_name, *asked], sort_keys=True)

    def encode(self, pictures: Sequence[Picture]) -> Encoded:
        """Encode pictures, files or bytes.

        Raises:
            FeatureError: There is a relation model, and nothing that sees pictures as it does.
        """
        space = self.space
        if self.relation_model is None:
            vectors, problems = space.pictures(pictures)
            return Encoded(vectors, None, problems)
        if self.pooled is None:
            if space.look is None:
                raise FeatureError(f"{space.name}: its image features are not those that the relation model knows")
            vectors, features = space.look(pictures)
        else:
            vectors, _ = space.pictures(pictures)
            features = self.pooled.encode(pictures)
        return Encoded(vectors, self.relation_model.image_offsets(features.pooled), features.problems)


def asked_of(asked: Mapping[str, Asked], path: Path) -> Asked:
    """The settings that were asked for a path, else for the nearest folder around it."""
    return next((asked[str(each)] for each in (path, *path.parents) if str(each) in asked), {})


def default_pooled(space: SearchSpace, cache: FeatureCache | None = None) -> ImageBackbone | None:
    """What ``Encoder.pooled`` must be beside a space: nothing where the space itself sees with the default backbone."""
    from iconotext.features import cached_image, load_image_backbone

    backbone = load_image_backbone()
    if space.look is not None and space.sees == backbone.name:
        return None
    return backbone if cache is None else cached_image(backbone, cache)
