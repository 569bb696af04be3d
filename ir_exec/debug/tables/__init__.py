"""The operator tables: small cases of every operator, and what a device makes of them."""
