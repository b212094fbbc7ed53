"""How the database of a catalogue is laid out; see `pincite.store.catalogue`."""

from __future__ import annotations

__all__ = ["FORMAT", "SCHEMA", "UNSETTLED"]

#: Raised with every change of the layout of the database or of the points; see `pincite.store.migrate`.
FORMAT = 2

#: Of the rows of versions, those whose points are not yet as the row says.
UNSETTLED = "(state IN ('staged', 'retired') OR (state = 'past' AND marked = 0))"

#: Name → the statement that makes it.
SCHEMA = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "versions": """
CREATE TABLE versions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('staged', 'current', 'past', 'retired')),
    marked INTEGER NOT NULL DEFAULT 0,
    uri TEXT NOT NULL,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    media_type TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    recipe TEXT NOT NULL,
    added_at TEXT NOT NULL,
    starts TEXT,
    ended_at TEXT NOT NULL DEFAULT '',
    removed_on TEXT NOT NULL DEFAULT '',
    valid_to TEXT NOT NULL DEFAULT '',
    chunks INTEGER NOT NULL DEFAULT 0,
    characters INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    pages TEXT NOT NULL,
    headings TEXT NOT NULL,
    warnings TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (document_id, version)
)
""",
    "one_current": "CREATE UNIQUE INDEX one_current ON versions (document_id) WHERE state = 'current'",
    "by_uri": "CREATE INDEX by_uri ON versions (uri) WHERE state = 'current'",
    "by_source": "CREATE INDEX by_source ON versions (source) WHERE state = 'current'",
    # Which past versions are too old is asked again and again, and of many it is few.
    "by_end": "CREATE INDEX by_end ON versions (ended_at) WHERE state = 'past'",
    "unsettled": f"CREATE INDEX unsettled ON versions (state) WHERE {UNSETTLED}",
    # The last number given to each document, kept after a removal: an old citation can never come to mean another text.
    "numbers": "CREATE TABLE numbers (document_id TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID",
    "fields": "CREATE TABLE fields (name TEXT PRIMARY KEY) WITHOUT ROWID",
    "sources": """
CREATE TABLE sources (
    uri TEXT PRIMARY KEY, content_hash TEXT NOT NULL, reading TEXT NOT NULL, recipe TEXT NOT NULL
) WITHOUT ROWID
""",
    # Which points have the vector of a text, by the digest of the text; each row is gone with its point.
    "encodings": """
CREATE TABLE encodings (digest BLOB NOT NULL, point INTEGER NOT NULL, PRIMARY KEY (digest, point)) WITHOUT ROWID
""",
    "by_point": "CREATE INDEX by_point ON encodings (point)",
    "runs": """
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, command TEXT NOT NULL, at TEXT NOT NULL, seconds REAL NOT NULL, unchanged INTEGER NOT NULL
)
""",
    "outcomes": """
CREATE TABLE outcomes (
    run INTEGER NOT NULL, uri TEXT NOT NULL, status TEXT NOT NULL, document_id TEXT, version INTEGER,
    chunks INTEGER NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, warnings TEXT NOT NULL
)
""",
    "by_run": "CREATE INDEX by_run ON outcomes (run)",
}
