"""Ids and texts by the libraries that models were trained with.

Reads one JSON request per line, writes one JSON answer per line:
  {"library": "tokenizers" | "sentencepiece", "path", "texts", "ids"} -> {"ids", "texts"}
  {"library": "trainer", "path", "texts", "options"} -> {}  (a sentencepiece model trained on the texts)
"""

import json
import sys


def answer(request):
    path = request["path"]
    if request["library"] == "trainer":
        import sentencepiece

        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(request["texts"]),
            model_prefix=path.removesuffix(".model"),
            minloglevel=2,
            **request["options"],
        )
        return {}
    if request["library"] == "sentencepiece":
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_file=path)
        return {
            "ids": [model.encode(text) for text in request["texts"]],
            "texts": [model.decode(ids) for ids in request["ids"]],
        }
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.encode_special_tokens = True
    encoded = tokenizer.encode_batch(request["texts"], add_special_tokens=False)
    return {
        "ids": [e.ids for e in encoded],
        "texts": tokenizer.decode_batch(request["ids"], skip_special_tokens=True),
    }


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
