#include "core/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *pointer, size_t count, size_t size)
{
    if (!pointer) {
        fprintf(stderr, "fathom: out of memory (%zu × %zu bytes)\n", count, size);
        abort();
    }
    return pointer;
}

void *mem_alloc(size_t size)
{
    return checked(malloc(size ? size : 1), 1, size);
}

void *mem_zalloc(size_t size)
{
    return mem_calloc(1, size);
}

void *mem_calloc(size_t count, size_t size)
{
    return checked(count && size ? calloc(count, size) : calloc(1, 1), count, size);
}

void *mem_realloc(void *pointer, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return checked(NULL, count, size);
    return checked(realloc(pointer, count && size ? count * size : 1), count, size);
}

char *mem_strdup(const char *text)
{
    return checked(strdup(text), 1, strlen(text) + 1);
}

char *mem_strdup_or_null(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

char *mem_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return checked(length < 0 ? NULL : text, 1, 0);
}

void *mem_grow(void *array, size_t count, size_t *capacity, size_t element_size)
{
    if (count < *capacity)
        return checked(array, *capacity, element_size);
    size_t wanted = *capacity ? *capacity + *capacity / 2 + 1 : 8;
    void *grown = mem_realloc(array, wanted, element_size);
    *capacity = wanted;
    return grown;
}
