# The compile settings all targets share, and fathom_room(), which makes the static library of one room.

find_package(PkgConfig REQUIRED)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.85)
pkg_check_modules(IDN2 REQUIRED IMPORTED_TARGET libidn2>=2.3)
pkg_check_modules(XML2 REQUIRED IMPORTED_TARGET libxml-2.0>=2.9.10)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.36)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.40)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.35)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(UCHARDET REQUIRED IMPORTED_TARGET uchardet)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.4)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive>=3.4)
pkg_check_modules(PSL REQUIRED IMPORTED_TARGET libpsl)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp>=2.4)

add_library(fathom_settings INTERFACE)
target_include_directories(fathom_settings INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                                     ${PROJECT_SOURCE_DIR})
target_compile_definitions(fathom_settings INTERFACE _GNU_SOURCE FATHOM_VERSION="${PROJECT_VERSION}")
target_compile_options(fathom_settings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wvla -Wformat=2
                                                 -Wstrict-prototypes -Wmissing-prototypes -Wswitch
                                                 -Werror=implicit-function-declaration)
target_link_options(fathom_settings INTERFACE -Wl,--as-needed)
if(FATHOM_WERROR)
    target_compile_options(fathom_settings INTERFACE -Werror)
endif()
if(FATHOM_SANITIZE)
    target_compile_options(fathom_settings INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                     -fno-omit-frame-pointer)
    target_link_options(fathom_settings INTERFACE -fsanitize=address,undefined)
endif()
if(FATHOM_FUZZ)
    target_compile_options(fathom_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# fathom_room(NAME SOURCES file… LIBRARIES target…) makes fathom_NAME from files of the current folder. LIBRARIES are the
# rooms and libraries it may include; .ci/check-includes checks that nothing else is.
function(fathom_room name)
    cmake_parse_arguments(ROOM "" "" "SOURCES;LIBRARIES" ${ARGN})
    add_library(fathom_${name} STATIC ${ROOM_SOURCES})
    target_link_libraries(fathom_${name} PUBLIC fathom_settings ${ROOM_LIBRARIES})
endfunction()
