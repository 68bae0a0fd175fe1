-- The statements of the page cache. Each stands behind its name and ends before the next.

-- name: begin
BEGIN IMMEDIATE
-- name: commit
COMMIT
-- name: rollback
ROLLBACK
-- name: find
SELECT page.id, final_url, addresses, content_type, etag, last_modified, body_bytes, stored_at, fresh_until,
       must_confirm, bytes
  FROM page JOIN body ON page_id = page.id
 WHERE url = ?1 AND stored_at >= ?2
-- name: use
UPDATE page SET used = (SELECT max(used) + 1 FROM page) WHERE id = ?1
-- name: add
INSERT INTO page (url, final_url, addresses, content_type, etag, last_modified, body_bytes, stored_at, fresh_until,
                  must_confirm, used)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (SELECT ifnull(max(used), 0) + 1 FROM page))
-- name: add_body
INSERT INTO body (page_id, bytes) VALUES (last_insert_rowid(), ?1)
-- name: confirm
UPDATE page
   SET etag = ifnull(?2, etag), last_modified = ifnull(?3, last_modified), stored_at = ?4, fresh_until = ?5,
       must_confirm = ?6
 WHERE url = ?1
-- name: remove
DELETE FROM page WHERE url = ?1
-- name: remove_old
DELETE FROM page WHERE stored_at < ?1
-- name: remove_unused
DELETE FROM page WHERE id = (SELECT id FROM page ORDER BY used LIMIT 1)
-- name: size
SELECT (page_count - freelist_count) * page_size, freelist_count * page_size
  FROM pragma_page_count, pragma_freelist_count, pragma_page_size
-- name: shrink
PRAGMA incremental_vacuum
