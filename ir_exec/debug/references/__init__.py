"""What a model is compared with: files, recordings, and other programs in processes of their own."""
