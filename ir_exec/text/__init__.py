"""Text models: tokenizers, folders with the files of a model, and text generation.

    import ir_exec.text

    pipeline = ir_exec.text.load("samples/language_model")
    pipeline.decode(pipeline.encode("a layer"))
    pipeline.generate("a layer", max_new_tokens=5).text

`ops` contains the operators of openvino_tokenizers, whose modules are imported when a file needs them. The extra `text`
installs `regex` for regular expressions and `sentencepiece` for SentencePiece models.
"""

from ir_exec.lazy import from_stub

# Files with a tokenizer need only the operators.
__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
