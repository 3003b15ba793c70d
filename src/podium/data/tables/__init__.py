"""Tables of every kind, on their way in: files and frames become codes and counts, each fault named with its row.

    sources → readers (delimited, jsonlines) → columns, outcomes, rankings → labels → merging → forms

`forms` hands over what `Comparisons` is built from; nothing here knows of it.
"""
