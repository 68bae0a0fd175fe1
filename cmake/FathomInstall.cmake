# What is installed: the program, the public header, the library (shared, and static as one object whose inner names are
# local, so that a program may have its own json_parse), fathom.pc, a CMake package, the manual page and shell completion.

set(fathom_rooms core loop net text readers worker store protocol model agent engine tools api)
set(fathom_objects "")
foreach(room IN LISTS fathom_rooms)
    list(APPEND fathom_objects $<TARGET_OBJECTS:fathom_${room}>)
endforeach()
set(fathom_libraries PkgConfig::CURL PkgConfig::IDN2 PkgConfig::XML2 PkgConfig::ARCHIVE PkgConfig::PCRE2 PkgConfig::UV PkgConfig::JANSSON
                     PkgConfig::SQLITE PkgConfig::YAML PkgConfig::UCHARDET PkgConfig::UTF8PROC PkgConfig::CRYPTO PkgConfig::ZLIB
                     PkgConfig::PSL PkgConfig::ZSTD PkgConfig::XXHASH
                     PkgConfig::SECCOMP m)
# For fathom.pc: what a program that links the static library needs beside it.
set(FATHOM_PC_REQUIRES "libcurl, libidn2, libxml-2.0, libpcre2-8, libuv, jansson, sqlite3, yaml-0.1, uchardet, libutf8proc, libcrypto, zlib, libpsl, libzstd, libxxhash, libseccomp, libarchive")
set(FATHOM_PC_LIBS "-lm -pthread")

file(CONFIGURE OUTPUT embedding.c CONTENT "/* The library has no sources of its own. */\nextern int fathom_embedding;\n")
add_library(fathom_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/embedding.c ${fathom_objects})
target_link_libraries(fathom_shared PRIVATE fathom_settings ${fathom_libraries})
if(NOT FATHOM_SANITIZE)
    target_link_options(fathom_shared PRIVATE -Wl,-z,defs)
endif()
target_include_directories(fathom_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(fathom_shared PROPERTIES OUTPUT_NAME fathom EXPORT_NAME fathom VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR})

# Relative to the file itself, so that an installed tree can be moved and --prefix given late.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(FATHOM_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/x")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(FATHOM_PC_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/fathom.pc.in ${PROJECT_BINARY_DIR}/fathom.pc @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fathom-config-version.cmake COMPATIBILITY SameMajorVersion)

install(TARGETS fathom RUNTIME)
install(TARGETS fathom_shared EXPORT fathom-config LIBRARY)
install(EXPORT fathom-config NAMESPACE fathom:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fathom)
install(FILES ${PROJECT_BINARY_DIR}/fathom-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fathom)
install(FILES ${PROJECT_SOURCE_DIR}/include/fathom/fathom.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fathom)
install(FILES ${PROJECT_BINARY_DIR}/fathom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/fathom.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME fathom)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# One relocatable object from all rooms, its hidden symbols made local. Link-time optimization is finished here, because
# its intermediate form fits one compiler only.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT FATHOM_SANITIZE AND CMAKE_OBJCOPY)
    set(whole ${CMAKE_CURRENT_BINARY_DIR}/fathom-whole.o)
    set(optimize "")
    if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
        set(optimize -O2 -flto=auto -flinker-output=nolto-rel -fPIC -fvisibility=hidden)
    endif()
    add_custom_command(
        OUTPUT ${PROJECT_BINARY_DIR}/libfathom.a
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib ${optimize} -o ${whole} "${fathom_objects}"
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${PROJECT_BINARY_DIR}/libfathom.a
        COMMAND ${CMAKE_AR} rcs ${PROJECT_BINARY_DIR}/libfathom.a ${whole}
        DEPENDS ${fathom_objects}
        COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(fathom_static ALL DEPENDS ${PROJECT_BINARY_DIR}/libfathom.a)
    install(FILES ${PROJECT_BINARY_DIR}/libfathom.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

find_program(SCDOC scdoc)
if(SCDOC)
    add_custom_command(
        OUTPUT ${PROJECT_BINARY_DIR}/fathom.1
        COMMAND sh -c "${SCDOC} < ${PROJECT_SOURCE_DIR}/docs/fathom.1.scd > ${PROJECT_BINARY_DIR}/fathom.1"
        DEPENDS ${PROJECT_SOURCE_DIR}/docs/fathom.1.scd
        VERBATIM)
    add_custom_target(fathom_manual ALL DEPENDS ${PROJECT_BINARY_DIR}/fathom.1)
    install(FILES ${PROJECT_BINARY_DIR}/fathom.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
