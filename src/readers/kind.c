/* What a file is, by its name and its first bytes. */
#include <string.h>

#include "readers/internal.h"

struct str base_name(struct str path)
{
    size_t slash = str_rfind_char(path, '/');
    struct str name = slash == STR_NONE ? path : str_slice(path, slash + 1, path.len);
    if (str_ends_with(name, STR(".gz")))
        name = str_slice(name, 0, name.len - 3);
    return name;
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
        ".7z",  ".a",    ".aac",  ".avi",   ".avif",   ".bin",  ".bmp",  ".bz2",  ".class", ".db",  ".deb",
        ".dll", ".doc",  ".docx", ".dylib", ".eot",    ".epub", ".exe",  ".flac", ".gif",   ".ico", ".iso",
        ".jar", ".jpeg", ".jpg",  ".lzma",  ".m4a",    ".mkv",  ".mo",   ".mov",  ".mp3",   ".mp4", ".mpeg",
        ".mpg", ".o",    ".odp",  ".ods",   ".odt",    ".ogg",  ".otf",  ".pdf",  ".png",   ".ppt", ".pptx",
        ".pyc", ".rar",  ".rpm",  ".so",    ".sqlite", ".tar",  ".tgz",  ".tif",  ".tiff",  ".ttf", ".wasm",
        ".wav", ".webm", ".webp", ".woff",  ".woff2",  ".xls",  ".xlsx", ".xz",   ".zip",   ".zst",
    };
    name = base_name(name);
    for (size_t i = 0; i < sizeof binary_endings / sizeof binary_endings[0]; i++) {
        struct str ending = str_of(binary_endings[i]);
        if (name.len > ending.len && str_equal_ascii_nocase(str_slice(name, name.len - ending.len, name.len), ending))
            return false;
    }
    return true;
}

const char *binary_name(struct str bytes)
{
    static const struct {
        struct str magic;
        const char *name;
    } known[] = {
        {STR("%PDF-"), "a PDF document"},
        {STR("PK\x03\x04"), "a ZIP archive or office document"},
        {STR("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "an old office document"},
        {STR("\x89PNG\r\n\x1A\n"), "a PNG image"},
        {STR("\xFF\xD8\xFF"), "a JPEG image"},
        {STR("GIF8"), "a GIF image"},
        {STR("II*\0"), "a TIFF image"},
        {STR("MM\0*"), "a TIFF image"},
        {STR("RIFF"), "a WebP image, sound or film"},
        {STR("OggS"), "an Ogg sound or film"},
        {STR("ID3"), "an MP3 sound"},
        {STR("fLaC"), "a FLAC sound"},
        {STR("\x1A\x45\xDF\xA3"), "a Matroska or WebM film"},
        {STR("\x7F"
             "ELF"),
         "a program or library"},
        {STR("MZ\x90"), "a Windows program"},
        {STR("\xCA\xFE\xBA\xBE"), "a Java class or program"},
        {STR("\0asm"), "a WebAssembly program"},
        {STR("BZh"), "a bzip2 archive"},
        {STR("\xFD"
             "7zXZ"),
         "an xz archive"},
        {STR("\x28\xB5\x2F\xFD"), "a Zstandard archive"},
        {STR("7z\xBC\xAF"), "a 7z archive"},
        {STR("Rar!"), "a RAR archive"},
        {STR("SQLite format 3"), "an SQLite database"},
        {STR("wOFF"), "a font"},
        {STR("wOF2"), "a font"},
        {STR("!<arch>\n"), "a library or Debian package"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_starts_with(bytes, known[i].magic))
            return known[i].name;
    if (bytes.len > 12 && memcmp(bytes.data + 4, "ftyp", 4) == 0)
        return "an MP4 film or HEIF image";
    if (bytes.len > 262 && memcmp(bytes.data + 257, "ustar", 5) == 0)
        return "a tar archive";
    if (str_starts_with(bytes, STR("\xFF\xFE")) || str_starts_with(bytes, STR("\xFE\xFF")))
        return NULL; /* UTF-16 is full of NULs */
    size_t controls = 0, n = bytes.len < 8192 ? bytes.len : 8192;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        controls += c < 9 || (c > 13 && c < 27) || (c > 27 && c < 32);
    }
    return controls > 2 && controls * 20 > n ? "a binary file" : NULL;
}
