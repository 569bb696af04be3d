"""Readers of checkpoints: safetensors, GGUF, .npz, PyTorch, and other models."""
