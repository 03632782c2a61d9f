"""The same programs on today's two drivers and on this one, against one real node.

``tox -e differential`` runs them and fails for each difference that `defended` does not have.
"""
