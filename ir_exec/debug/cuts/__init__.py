"""Parts of a model: extracted, reduced to the smallest that fails, anonymized, bundled."""
