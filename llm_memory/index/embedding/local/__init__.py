"""Models in a folder on disk: ONNX exports, and those that need sentence-transformers."""
