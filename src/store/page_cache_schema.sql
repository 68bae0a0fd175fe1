-- The layout of a page cache. `user_version` (PAGE_CACHE_FORMAT in page_cache_internal.h) changes with it.

CREATE TABLE page (
    id            INTEGER PRIMARY KEY,
    url           TEXT NOT NULL UNIQUE, -- as it was asked
    final_url     TEXT NOT NULL,
    addresses     TEXT NOT NULL, -- that it came from; checked again before it is used
    content_type  TEXT,
    etag          TEXT,
    last_modified TEXT,
    body_bytes    INTEGER NOT NULL, -- before compression
    stored_at     INTEGER NOT NULL, -- received or confirmed, seconds since 1970
    fresh_until   INTEGER NOT NULL,
    must_confirm  INTEGER NOT NULL,
    used          INTEGER NOT NULL -- counts up: the lowest was not used for longest
);

CREATE INDEX page_used ON page (used);
CREATE INDEX page_stored ON page (stored_at);

-- Apart from `page`, whose rows change with every use.
CREATE TABLE body (
    page_id INTEGER PRIMARY KEY,
    bytes   BLOB NOT NULL -- one zstd frame with a checksum
);

CREATE TRIGGER page_gone AFTER DELETE ON page BEGIN
    DELETE FROM body WHERE page_id = old.id;
END;
