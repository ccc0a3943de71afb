"""Window specifications: which windows exist, what each contains, and which windows a row belongs to."""
