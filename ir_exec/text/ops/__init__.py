"""The operators of openvino_tokenizers, one class for each."""
