"""The index of words: tables, arrays and scores behind ``lexical_index.py``."""
