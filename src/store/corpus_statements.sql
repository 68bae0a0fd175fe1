-- The statements of the corpus, each under its name.

-- name: begin
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: read_meta
SELECT value FROM meta WHERE key = ?1;

-- name: write_meta
INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: find_collection
SELECT id, name FROM collection WHERE path = ?1;

-- name: name_taken
SELECT 1 FROM collection WHERE name = ?1;

-- name: add_collection
INSERT INTO collection (name, path) VALUES (?1, ?2);

-- name: find_file
SELECT id, size, changed_ns, hash FROM file WHERE collection_id = ?1 AND path = ?2;

-- name: list_files
SELECT id, path FROM file WHERE collection_id = ?1;

-- name: add_file
INSERT INTO file (collection_id, path, size, changed_ns, hash) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: touch_file
UPDATE file SET size = ?2, changed_ns = ?3 WHERE id = ?1;

-- name: delete_file
DELETE FROM file WHERE id = ?1;

-- name: documents_of_file
SELECT id, title FROM document WHERE file_id = ?1;

-- name: find_document
SELECT document.id, document.url, document.title, document.alias_of FROM document WHERE url = ?1;

-- name: document_by_id
SELECT url, title, text_hash FROM document WHERE id = ?1;

-- name: add_document
INSERT INTO document (file_id, url, title, alias_of, length, text_hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: delete_document
DELETE FROM document WHERE id = ?1;

-- name: add_text
INSERT INTO document_text (document_id, size, deflated) VALUES (?1, ?2, ?3);

-- name: read_text
SELECT size, deflated FROM document_text WHERE document_id = ?1;

-- name: delete_text
DELETE FROM document_text WHERE document_id = ?1;

-- name: add_passage
INSERT INTO passage (id, start, stop, length, headings) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: read_passage
SELECT start, stop, headings FROM passage WHERE id = ?1;

-- name: passages_of_document
SELECT id, start, stop, headings FROM passage WHERE id >= ?1 AND id < ?2 ORDER BY id;

-- name: delete_passages
DELETE FROM passage WHERE id >= ?1 AND id < ?2;

-- name: index_passage
INSERT INTO passage_index (rowid, title, headings, body) VALUES (?1, ?2, ?3, ?4);

-- name: unindex_passage
INSERT INTO passage_index (passage_index, rowid, title, headings, body) VALUES ('delete', ?1, ?2, ?3, ?4);

-- name: merge_index
INSERT INTO passage_index (passage_index) VALUES ('optimize');

-- name: passage_lengths
SELECT id, length FROM passage ORDER BY id;

-- name: document_lengths
SELECT id, length FROM document WHERE alias_of IS NULL ORDER BY id;

-- name: term_instances
SELECT doc, col, offset FROM passage_term WHERE term = ?1;

-- name: count_documents
SELECT count(*) FROM document;

-- name: count_passages
SELECT count(*) FROM passage;

-- name: data_version
PRAGMA data_version;
