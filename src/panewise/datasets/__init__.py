"""Data to try things on: a seeded auction generator and real flights, both disordered and punctuated."""
