"""A small byte-level tokenizer, as the policy's would be."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TEXT = [
    "The lighthouse at Skerry Point was lit for the first time in 1871, after four winters of building.",
    "The farms of the Fell valley make a hard cheese that ripens for fourteen months in stone cellars.",
    "Ottersund bridge joins the two halves of the town and was opened in the spring of 1934.",
]


@pytest.fixture
def tokenizer() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False))
    return made
