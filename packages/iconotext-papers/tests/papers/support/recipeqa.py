"""Trees in the layout of RecipeQA."""

from __future__ import annotations

import json

from PIL import Image


def step(number, title, body, *images, **more):
    """A step of a context, with the fields that are published."""
    return {"id": number, "title": title, "body": body, "images": list(images), "videos": ["v.mp4"]} | more


def question(recipe, *steps, **more):
    return {
        "recipe_id": recipe,
        "context": list(steps),
        "qid": "1000-1-0-2-3-5",
        "task": "visual_cloze",
        "question_text": "Choose the best image for the missing blank to correctly complete the recipe",
        "question": ["@placeholder", "x_1_0.jpg"],
        "choice_list": ["q_1_0.jpg"],
        "answer": 0,
        "split": "train",
    } | more


def recipe(name, steps=2, images=1):
    """A question about a recipe that keeps all rules, if it has two images and steps."""
    return question(
        name,
        *(
            step(i, f"Step {i}", f"Do {i} of {name}.", *(f"{name}_{i}_{j}.jpg" for j in range(images)))
            for i in range(steps)
        ),
    )


def files(folder, training, validation=(), names=("train.json", "val.json")):
    folder.mkdir(parents=True, exist_ok=True)
    for name, questions in zip(names, (training, validation), strict=True):
        (folder / name).write_text(json.dumps({"version": "1.0", "data": list(questions)}))
    return folder


def pictures(folder, *names):
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number % 256, 99, 7)).save(path, format="JPEG")


def names_in(*questions):
    return sorted({name for each in questions for step in each["context"] for name in step["images"]})
