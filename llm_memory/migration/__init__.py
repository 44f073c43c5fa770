"""Records that come from elsewhere: the record walker, scope migration, adoption of other plugins'
stores, and their reversal.

Law: what is walked is counted, repeatable and undoable; a broken record is never in the way.
"""
