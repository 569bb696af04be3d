"""Text in models: the operators of openvino_tokenizers, which a file's layers of version `extension` name.

The modules of `ops` are imported when a file needs them. Patterns are run by the package `regex`, SentencePiece models
by `sentencepiece`: the extra `ir-exec[text]`.
"""
