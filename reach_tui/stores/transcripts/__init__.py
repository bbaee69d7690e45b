"""Stores that are files of JSON Lines, one session a file: one reader over many files, and one format a program."""
