# Writes a C file with the contents of FILES (paths relative to ROOT, separated by "|") as the table of core/embed.h.
# Run as: cmake -DROOT=… -DFILES=… -DOUTPUT=… -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(arrays "")
set(table "")
set(index 0)
foreach(path IN LISTS files)
    file(READ "${ROOT}/${path}" hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(APPEND arrays "static const unsigned char file_${index}[] = {${bytes}0};\n")
    string(APPEND table "    {\"${path}\", {(const char *)file_${index}, ${size}}},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE "${OUTPUT}" "#include \"core/embed.h\"\n\n${arrays}
static const struct embedded_file files[] = {\n${table}};

const struct embedded_file *embed_files(size_t *count)
{
    *count = sizeof files / sizeof files[0];
    return files;
}
")
