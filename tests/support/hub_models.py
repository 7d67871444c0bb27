"""Models with a few random weights, saved as those of the Hugging Face hub are."""

import json

from tests.support import images

WORDS = ["a", "cat", "dog", "the", "on", "mat", "of", "photo"]
VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
SQUARE = {"image_size": 32, "patch_size": 4}
TEXT = VISION | {
    "vocab_size": 16, "max_position_embeddings": 12, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2
}  # fmt: skip


def noise(seed, width=96, height=80):
    """An encoded picture of noise, different for every seed: ``noise(1, width=50)``."""
    return images.noise(seed, (width, height))


def write_models(folder):
    """Write vision models and dual encoders, each into a folder of its name."""
    import torch
    import transformers

    torch.manual_seed(0)
    labels = {i: f"class {i}" for i in range(5)}
    vit = transformers.ViTConfig(**VISION, **SQUARE, id2label=labels)
    transformers.ViTForImageClassification(vit).save_pretrained(folder / "vit")
    transformers.ViTModel(vit, add_pooling_layer=False).save_pretrained(folder / "vit-without-pooler")
    transformers.ViTModel(vit).save_pretrained(folder / "vit-with-pooler")
    resnet = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], id2label=labels)
    transformers.ResNetForImageClassification(resnet).save_pretrained(folder / "resnet")
    transformers.ResNetModel(resnet).save_pretrained(folder / "resnet-without-head")
    for name in ("vit", "vit-without-pooler", "vit-with-pooler", "resnet", "resnet-without-head"):
        save_processor(folder / name, "ViTImageProcessor", size={"height": 32, "width": 32})
    siglip = transformers.SiglipConfig(text_config=TEXT, vision_config=VISION | SQUARE)
    write_dual(transformers.SiglipModel(siglip), folder / "siglip")
    write_clip(folder / "clip")


def write_clip(folder):
    """A CLIP of random weights."""
    import transformers

    clip = transformers.CLIPConfig(text_config=TEXT, vision_config=VISION | SQUARE, projection_dim=12)
    write_dual(transformers.CLIPModel(clip), folder)


def write_dual(model, folder):
    model.save_pretrained(folder)
    save_processor(folder, "CLIPImageProcessor", size={"shortest_edge": 32}, crop_size=32)
    write_tokenizer(folder)


def save_processor(folder, kind, **fields):
    fields |= {"image_processor_type": kind, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    fields |= {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
    fields |= {"do_center_crop": "crop_size" in fields}
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
