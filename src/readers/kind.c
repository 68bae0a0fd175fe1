/* What a file is, by its first bytes, its declared type and its name. */
#include <string.h>

#include "readers/internal.h"
#include "readers/kind_text.h"

struct str base_name(struct str path)
{
    size_t slash = str_rfind_char(path, '/');
    struct str name = slash == STR_NONE ? path : str_slice(path, slash + 1, path.len);
    if (str_ends_with(name, STR(".gz")))
        name = str_slice(name, 0, name.len - 3);
    return name;
}

bool name_ends(struct str name, const char *const *endings)
{
    for (; *endings; endings++) {
        struct str ending = str_of(*endings);
        if (name.len > ending.len && str_equal_ascii_nocase(str_slice(name, name.len - ending.len, name.len), ending))
            return true;
    }
    return false;
}

bool reader_is_man_name(struct str name)
{
    name = base_name(name);
    size_t dot = str_rfind_char(name, '.');
    if (dot == STR_NONE || dot == 0 || dot + 1 >= name.len)
        return false;
    struct str section = str_slice(name, dot + 1, name.len);
    if (!(section.data[0] >= '1' && section.data[0] <= '9') || section.len > 12)
        return false;
    for (size_t i = 1; i < section.len; i++)
        if (!ascii_is_alnum(section.data[i]) || ascii_is_digit(section.data[i]))
            return false;
    return true;
}

bool reader_wants_name(struct str name)
{
    static const char *const binary_endings[] = {
        ".7z",   ".a",     ".aac",    ".avi",   ".avif", ".bin",  ".bmp",  ".bz2",  ".class", ".db",   ".deb",  ".dll",
        ".doc",  ".docm",  ".docx",   ".dylib", ".eot",  ".epub", ".exe",  ".flac", ".gif",   ".ico",  ".iso",  ".jar",
        ".jpeg", ".jpg",   ".lzma",   ".m4a",   ".mkv",  ".mo",   ".mov",  ".mp3",  ".mp4",   ".mpeg", ".mpg",  ".o",
        ".odp",  ".ods",   ".odt",    ".ogg",   ".otf",  ".pdf",  ".png",  ".ppt",  ".pptx",  ".pyc",  ".rar",  ".rpm",
        ".rtf",  ".so",    ".sqlite", ".tar",   ".tgz",  ".tif",  ".tiff", ".ttf",  ".wasm",  ".wav",  ".webm", ".webp",
        ".woff", ".woff2", ".xls",    ".xlsm",  ".xlsx", ".xz",   ".zip",  ".zst",  NULL,
    };
    return !name_ends(base_name(name), binary_endings);
}

/* ---- bytes ---- */

struct magic {
    struct str bytes;
    const char *name;
    enum reader_kind kind;
};

static const struct magic known[] = {
    {STR("%PDF-"), "a PDF document", READER_PDF},
    {STR("PK\x03\x04"), "a ZIP archive or office document", READER_ARCHIVE},
    {STR("PK\x05\x06"), "an empty ZIP archive", READER_ARCHIVE},
    {STR("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "an old office document", READER_OFFICE},
    {STR("{\\rtf"), "an RTF document", READER_OFFICE},
    {STR("\x89PNG\r\n\x1A\n"), "a PNG image", READER_IMAGE},
    {STR("\xFF\xD8\xFF"), "a JPEG image", READER_IMAGE},
    {STR("GIF87a"), "a GIF image", READER_IMAGE},
    {STR("GIF89a"), "a GIF image", READER_IMAGE},
    {STR("II*\0"), "a TIFF image", READER_IMAGE},
    {STR("MM\0*"), "a TIFF image", READER_IMAGE},
    {STR("OggS"), "an Ogg sound or film", READER_AUDIO},
    {STR("ID3"), "an MP3 sound", READER_AUDIO},
    {STR("fLaC"), "a FLAC sound", READER_AUDIO},
    {STR("#!AMR"), "an AMR sound", READER_AUDIO},
    {STR("\x1A\x45\xDF\xA3"), "a Matroska or WebM film", READER_VIDEO},
    {STR("\0\0\x01\xBA"), "an MPEG film", READER_VIDEO},
    {STR("\0\0\x01\xB3"), "an MPEG film", READER_VIDEO},
    {STR("FLV\x01"), "a Flash film", READER_VIDEO},
    {STR("\x7F"
         "ELF"),
     "a program or library", READER_BINARY},
    {STR("MZ\x90"), "a Windows program", READER_BINARY},
    {STR("\xCA\xFE\xBA\xBE"), "a Java class or program", READER_BINARY},
    {STR("\0asm"), "a WebAssembly program", READER_BINARY},
    {STR("BZh"), "a bzip2 archive", READER_ARCHIVE},
    {STR("\xFD"
         "7zXZ"),
     "an xz archive", READER_ARCHIVE},
    {STR("\x28\xB5\x2F\xFD"), "a Zstandard archive", READER_ARCHIVE},
    {STR("7z\xBC\xAF"), "a 7z archive", READER_ARCHIVE},
    {STR("\x1F\x9D"), "a compressed file", READER_ARCHIVE},
    {STR("!<arch>\n"), "a library or Debian package", READER_ARCHIVE},
    {STR("Rar!"), "a RAR archive", READER_BINARY},
    {STR("SQLite format 3"), "an SQLite database", READER_BINARY},
    {STR("wOFF"), "a font", READER_BINARY},
    {STR("wOF2"), "a font", READER_BINARY},
};

/* Files in parts of four letters and a length: RIFF, and MP4's boxes. */
static const struct magic *find_boxed(struct str bytes)
{
    static const struct magic wave = {{0}, "a WAVE sound", READER_AUDIO}, webp = {{0}, "a WebP image", READER_IMAGE};
    static const struct magic avi = {{0}, "an AVI film", READER_VIDEO}, heif = {{0}, "a HEIF image", READER_IMAGE};
    static const struct magic sound = {{0}, "an MPEG-4 sound", READER_AUDIO}, film = {{0}, "an MP4 film", READER_VIDEO};
    static const struct magic bmp = {{0}, "a BMP image", READER_IMAGE}, tar = {{0}, "a tar archive", READER_ARCHIVE};
    struct str form = str_slice(bytes, 8, 12);
    if (str_starts_with(bytes, STR("RIFF")))
        return str_equal(form, STR("WAVE")) ? &wave : str_equal(form, STR("WEBP")) ? &webp : &avi;
    if (str_equal(str_slice(bytes, 4, 8), STR("ftyp"))) {
        bool picture = str_equal(form, STR("heic")) || str_equal(form, STR("heix")) || str_equal(form, STR("mif1")) ||
                       str_equal(form, STR("avif"));
        return picture ? &heif : str_starts_with(form, STR("M4A")) ? &sound : &film;
    }
    if (str_starts_with(bytes, STR("BM")) && bytes.len > 26 && memcmp(bytes.data + 6, "\0\0\0\0", 4) == 0)
        return &bmp;
    return str_equal(str_slice(bytes, 257, 262), STR("ustar")) ? &tar : NULL;
}

/* An MPEG sound frame without a tag before it: eleven bits, then layer 3. */
static bool is_mpeg_frame(struct str bytes)
{
    return bytes.len > 3 && (unsigned char)bytes.data[0] == 0xFF && ((unsigned char)bytes.data[1] & 0xE6) == 0xE2 &&
           ((unsigned char)bytes.data[2] & 0xF0) != 0xF0 && ((unsigned char)bytes.data[2] & 0x0C) != 0x0C;
}

static const struct magic *find_magic(struct str bytes)
{
    static const struct magic mp3 = {{0}, "an MP3 sound", READER_AUDIO}, other = {{0}, "a binary file", READER_BINARY};
    static const struct magic pdf = {{0}, "a PDF document", READER_PDF};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_starts_with(bytes, known[i].bytes))
            return &known[i];
    const struct magic *boxed = find_boxed(bytes);
    if (boxed)
        return boxed;
    if (str_starts_with(bytes, STR("\xFF\xFE")) || str_starts_with(bytes, STR("\xFE\xFF")))
        return NULL; /* UTF-16 is full of NULs */
    size_t controls = 0, n = bytes.len < 8192 ? bytes.len : 8192;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        controls += c < 9 || (c > 13 && c < 27) || (c > 27 && c < 32);
    }
    bool binary = controls > 2 && controls * 20 > n;
    if (binary && is_mpeg_frame(bytes))
        return &mp3;
    size_t at = binary ? str_find(str_slice(bytes, 0, 1024), STR("%PDF-"), 0) : STR_NONE;
    if (at != STR_NONE) /* printers and mailers put bytes of their own before it, and readers take that */
        return &pdf;
    return binary ? &other : NULL;
}

const char *binary_name(struct str bytes)
{
    const struct magic *magic = find_magic(bytes);
    return magic ? magic->name : NULL;
}

/* The kind of a ZIP by the first names in it: packages put their labels in front (ODF 1.3 part 2, 3.3; OCF 4.3). */
static enum reader_kind kind_of_zip(struct str bytes)
{
    static const struct {
        struct str mark;
        enum reader_kind kind;
    } labels[] = {
        {STR("mimetypeapplication/vnd.oasis.opendocument.text"), READER_ODT},
        {STR("mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), READER_ODS},
        {STR("mimetypeapplication/vnd.oasis.opendocument.presentation"), READER_ODP},
        {STR("mimetypeapplication/epub+zip"), READER_EPUB},
        {STR("word/document.xml"), READER_DOCX},
        {STR("ppt/presentation.xml"), READER_PPTX},
        {STR("xl/workbook.xml"), READER_XLSX},
        {STR("ppt/slides/"), READER_PPTX},
        {STR("xl/worksheets/"), READER_XLSX},
    };
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
        if (str_find(bytes, labels[i].mark, 0) != STR_NONE)
            return labels[i].kind;
    return READER_ARCHIVE;
}

enum reader_kind reader_kind_of(struct str bytes, struct str name, struct str content_type)
{
    struct buf inner;
    buf_init(&inner, SNIFF_BYTES);
    bytes = str_slice(bytes, 0, SNIFF_BYTES);
    if (gzip_is(bytes)) {
        gzip_peek(bytes, &inner);
        bytes = buf_str(&inner);
        name = base_name(name);
    }
    const struct magic *magic = find_magic(bytes);
    enum reader_kind kind = magic ? magic->kind : READER_TEXT;
    if (magic && str_starts_with(bytes, STR("PK\x03\x04")))
        kind = kind_of_zip(bytes);
    else if (!magic)
        kind = text_kind_of(bytes, base_name(name), content_type);
    buf_finish(&inner);
    return kind;
}

bool reader_needs_confinement(struct str bytes, struct str name, struct str content_type)
{
    return reader_kind_of(bytes, name, content_type) >= READER_PDF;
}

const char *reader_kind_name(enum reader_kind kind)
{
    switch (kind) {
    case READER_TEXT:
        return "text";
    case READER_MARKDOWN:
        return "Markdown";
    case READER_HTML:
        return "web page";
    case READER_JSON:
        return "JSON";
    case READER_JSON_LINES:
        return "JSON Lines";
    case READER_XML:
        return "XML";
    case READER_FEED:
        return "news feed";
    case READER_TABLE:
        return "table (CSV)";
    case READER_NOTEBOOK:
        return "Jupyter notebook";
    case READER_MAIL:
        return "mail";
    case READER_MAN:
        return "manual page";
    case READER_PDF:
        return "PDF document";
    case READER_DOCX:
        return "Word document";
    case READER_PPTX:
        return "PowerPoint presentation";
    case READER_XLSX:
        return "Excel workbook";
    case READER_ODT:
        return "OpenDocument text";
    case READER_ODS:
        return "OpenDocument spreadsheet";
    case READER_ODP:
        return "OpenDocument presentation";
    case READER_EPUB:
        return "EPUB book";
    case READER_OFFICE:
        return "office document";
    case READER_ARCHIVE:
        return "archive";
    case READER_IMAGE:
        return "image";
    case READER_AUDIO:
        return "sound";
    case READER_VIDEO:
        return "film";
    case READER_BINARY:
        return "binary file";
    }
    return "file";
}
