/* src/readers/reader.h
 *
 * A document's bytes to Markdown: text of every kind, web pages, feeds, tables, PDF, office documents, books, archives
 * and pictures.
 *
 * reader_read decides by content first (what the bytes are), then by declared type, then by name. It blocks, on child
 * programs for some formats (each killed at the deadline and when canceled), and keeps no state, so it runs on any
 * thread, also on several at once. What it cannot read it refuses by name, with what helps.
 *
 * Two classes of formats. Text, Markdown, HTML, JSON, XML, feeds, tables as text, mail and manual pages are read by
 * code made for hostile input and may be read anywhere. All others (`reader_needs_confinement`) go through container
 * libraries and foreign programs: they are read only where the caller says that it is confined, and refused elsewhere.
 */
#ifndef FATHOM_READERS_READER_H
#define FATHOM_READERS_READER_H

#include <stdatomic.h>

#include "core/buf.h"
#include "core/status.h"
#include "core/str.h"

enum reader_kind {
    READER_TEXT,
    READER_MARKDOWN,
    READER_HTML,
    READER_JSON,
    READER_JSON_LINES,
    READER_XML,
    READER_FEED,     /* RSS 0.9x to 2.0, RDF, Atom */
    READER_TABLE,    /* CSV, TSV and relatives */
    READER_NOTEBOOK, /* Jupyter */
    READER_MAIL,     /* a message with its parts (RFC 5322) */
    READER_MAN,
    /* From here on a confined process is needed. */
    READER_PDF,
    READER_DOCX,
    READER_PPTX,
    READER_XLSX,
    READER_ODT,
    READER_ODS,
    READER_ODP,
    READER_EPUB,
    READER_OFFICE,  /* what only LibreOffice reads: DOC, XLS, PPT, RTF and their relatives */
    READER_ARCHIVE, /* ZIP, TAR, 7z and whatever is compressed by gzip, bzip2, xz or Zstandard */
    READER_IMAGE,
    READER_AUDIO,  /* known, never read here: reader_read gives STATUS_UNSUPPORTED */
    READER_VIDEO,  /* the same */
    READER_BINARY, /* the same: programs, fonts, databases and what is no text */
};

/* The programs that are run, as paths or names to be searched in PATH. NULL: the usual name. "": not to be run, as if
 * it were not installed. */
struct reader_programs {
    const char *mandoc, *pdftotext, *pdfinfo, *pdftoppm, *tesseract, *soffice;
};

/* What is to be read. All is borrowed for the call. Zero and NULL are the defaults. */
struct reader_source {
    struct str bytes;
    bool from_descriptor; /* read `descriptor` in place of `bytes` */
    int descriptor;  /* a regular file or memfd, read by position from 0; its own offset is neither used nor kept */
    struct str name; /* file name or URL path, for its endings; may be empty */
    struct str content_type;   /* value of the HTTP header; may be empty */
    struct str url;            /* base of a page's links; may be empty */
    const char *man_root;      /* folder that `.so man2/open.2` is relative to; NULL: such includes are left out */
    bool whole_page;           /* HTML: everything, not the main part alone */
    bool drop_links;           /* HTML, office: text of links without addresses */
    bool comments;             /* HTML: what readers wrote below it, too */
    bool plain_text;           /* HTML: text without marks in place of Markdown */
    bool confined;             /* the caller is a confined process: every format may be read */
    size_t max_bytes;          /* cap of what is held of one text document, and of the Markdown; 0 means 10 MB */
    size_t max_unpacked;       /* cap of all bytes that archives and office files unpack to; 0 means 1 GB */
    int max_depth;             /* archives in archives that are opened; 0 means 4 */
    int max_entries;           /* files of an archive, those of inner ones included; 0 means 10,000 */
    int max_ocr_pages;         /* pages without text that are recognized; 0 means 20, below 0 none */
    const char *ocr_languages; /* as tesseract's -l wants it ("eng+deu"); NULL: tesseract's default */
    struct reader_programs programs;
    const char *temp_dir;      /* for soffice and recognition, which need files; NULL: $TMPDIR, else /tmp */
    int64_t timeout_ms;        /* for the whole document, its children included; 0 means 60,000 */
    const atomic_bool *cancel; /* polled; NULL allowed */
};

/* One line of the table of contents. */
struct reader_section {
    char *title;   /* owned, one line of plain text */
    int level;     /* 1 to 6; a page, slide, sheet or archive entry is a section too */
    size_t offset; /* of its heading's line in the Markdown */
};

/* Strings are owned, NUL-terminated UTF-8; NULL where unknown. */
struct reader_text {
    enum reader_kind kind;
    struct buf markdown;
    char *title; /* never NULL after success: the document's own, else its first heading, else its name, else "" */
    char *author, *date, *modified, *site_name, *language, *description; /* modified: of web pages alone */
    char *canonical_url;
    struct reader_section *sections; /* in the order of their offsets */
    size_t n_sections;
    int pages;        /* of a PDF, slides of a presentation, sheets of a workbook; 0 elsewhere */
    char charset[32]; /* that a text document was in, as text/charset.h names it; empty elsewhere */
    char *notice; /* sentences on what was left out or guessed ("Pages 3 to 9 hold no text …"); NULL: nothing to say */
    bool truncated; /* there is more than the caps let through */
};

/* What a file is. `bytes` is its beginning (64 KB tell all there is to tell; less may do). Office files and books whose
 * container begins with other parts come out as READER_ARCHIVE here, and as what they are from reader_read. Never
 * fails. */
enum reader_kind reader_kind_of(struct str bytes, struct str name, struct str content_type);

/* Whether a file that begins with `bytes` may be read by a confined process only. */
bool reader_needs_confinement(struct str bytes, struct str name, struct str content_type);

/* "PDF document", "Excel workbook", …: what a person calls it. Static. */
const char *reader_kind_name(enum reader_kind kind);

/* Reads a document. On failure `out` is untouched and the message names the thing and the remedy ("the PDF is
 * encrypted: save it without a password"), without a path.
 *
 * STATUS_UNSUPPORTED  a kind of file that is not read here, or not without a program that is not installed, or not
 *                     without `confined`
 * STATUS_DENIED       encrypted
 * STATUS_REFUSED      made to exhaust its reader: it unpacks to absurd sizes, or expands entities without end
 * STATUS_TOO_BIG      larger than a cap, and of a kind of which a part is of no use
 * STATUS_SYNTAX       broken beyond reading; what can be read of a damaged file is read, and `notice` says so
 * STATUS_TIMEOUT, STATUS_CANCELED, STATUS_IO (a read failed, or a program broke down) */
enum status reader_read(const struct reader_source *source, struct reader_text *out,
                        struct error *error) STATUS_CHECKED;

void reader_text_finish(struct reader_text *text);

/* Whether a file of this name is worth indexing: text, Markdown, HTML, JSON, XML and manual pages by their endings;
 * also names without an ending (README). False for endings of known binary formats. */
bool reader_wants_name(struct str name);

/* Whether the name is that of a manual page: an ending of a digit 1 to 9 (and letters), perhaps with `.gz`. */
bool reader_is_man_name(struct str name);

/* The folder that the includes of the manual page at `path` are relative to: the one above man1, man2 … A fresh string;
 * NULL when the page does not lie in such a folder. */
char *reader_man_root(const char *path);

/* A manual page that holds nothing but one include (`.so man2/open.2`) is another name of that page: the resolved path
 * of that page's file, compressed or not, as a fresh string. NULL for other pages, and where the file is not there.
 * Looks at the disk. */
char *reader_man_alias(const char *path, struct str bytes);

#endif
