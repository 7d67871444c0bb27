"""Models with a few random weights, saved as those of the Hugging Face hub are."""

import json

from tests.support import images

WORDS = ["a", "cat", "dog", "the", "on", "mat", "of", "photo"]


def noise(seed, width=96, height=80):
    """An encoded picture of noise, different for every seed: ``noise(1, width=50)``."""
    return images.noise(seed, (width, height))


def save_processor(folder, kind, **fields):
    fields |= {"image_processor_type": kind, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    fields |= {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
    fields = {"do_center_crop": "crop_size" in fields} | fields
    (folder / "preprocessor_config.json").write_text(json.dumps(fields))


def write_tokenizer(folder):
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = {"<s>": 0, "</s>": 1, "<pad>": 2, "<unk>": 3}
    vocabulary = special | {word: i + 4 for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
