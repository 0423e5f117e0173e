"""How each family of models spells its extents; one file a group of families."""
