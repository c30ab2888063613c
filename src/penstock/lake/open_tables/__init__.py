"""Tables as other Iceberg readers get them: metadata for one version, made from a physical table's own."""
