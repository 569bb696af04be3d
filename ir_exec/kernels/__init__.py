"""Arrays in, arrays out: what operators compute with. Nothing here knows operators, attributes or layers."""
