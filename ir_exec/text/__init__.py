"""Text in models: tokenizers that run, folders of files that are one model, and text from them.

    import ir_exec.text

    pipeline = ir_exec.text.load("samples/language_model")
    pipeline.decode(pipeline.encode("a layer"))
    pipeline.generate("a layer", max_new_tokens=5).text

`ops` has the operators of openvino_tokenizers, whose modules are imported when a file needs them. Patterns are run by
the package `regex`, SentencePiece models by `sentencepiece`: the extra `ir-exec[text]`.
"""

from ir_exec.lazy import from_stub

# Files with a tokenizer need the operators alone.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
