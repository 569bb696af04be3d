"""The operator tables: small cases of every operator, and their results on a device."""
