-- The layout of a corpus file. `user_version` (CORPUS_FORMAT in corpus_internal.h) changes with it.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- A folder or single file given to `fathom index`; its name is the first part of its documents' links.
CREATE TABLE collection (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    path BLOB NOT NULL UNIQUE
);

-- A file that was read, with what tells whether it has changed since.
CREATE TABLE file (
    id            INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collection (id),
    path          BLOB NOT NULL, -- below the collection's
    size          INTEGER NOT NULL,
    changed_ns    INTEGER NOT NULL,
    hash          BLOB NOT NULL, -- SHA-256 of its bytes
    UNIQUE (collection_id, path)
);

-- One text. An alias is another name of the document whose link is `alias_of` and has no text of its own.
CREATE TABLE document (
    id        INTEGER PRIMARY KEY,
    file_id   INTEGER NOT NULL REFERENCES file (id),
    url       TEXT NOT NULL UNIQUE,
    title     TEXT NOT NULL,
    alias_of  TEXT,
    length    INTEGER NOT NULL, -- in terms, title included
    text_hash BLOB              -- SHA-256 of the text; equal texts are shown once
);
CREATE INDEX document_of_file ON document (file_id);

CREATE TABLE document_text (
    document_id INTEGER PRIMARY KEY REFERENCES document (id),
    size        INTEGER NOT NULL, -- bytes of the text
    deflated    BLOB NOT NULL     -- zlib format
);

-- Passage number n of document d has the id d * 2^20 + n.
CREATE TABLE passage (
    id       INTEGER PRIMARY KEY,
    start    INTEGER NOT NULL, -- bytes of the text
    stop     INTEGER NOT NULL,
    length   INTEGER NOT NULL, -- in terms, headings and (for the first) title included
    headings TEXT
);

-- The terms of text/words.h, ready made and separated by spaces. The title stands in the first passage alone.
CREATE VIRTUAL TABLE passage_index USING fts5 (title, headings, body, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE passage_term USING fts5vocab (passage_index, 'instance');
