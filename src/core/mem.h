/* src/core/mem.h
 *
 * Memory. Running out of it ends the program in one place, so no caller checks for NULL. Anything whose size a network,
 * a file or a model decides belongs into a struct buf with a cap (core/buf.h), not into a bare allocation.
 */
#ifndef FATHOM_CORE_MEM_H
#define FATHOM_CORE_MEM_H

#include <stddef.h>

/* Like their namesakes in <stdlib.h> and <string.h>, but never NULL; a multiplication that overflows aborts. A size of
 * 0 gives a valid pointer. Free with free(). */
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_calloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *pointer, size_t count, size_t size) __attribute__((returns_nonnull));
char *mem_strdup(const char *text) __attribute__((malloc, returns_nonnull));

/* mem_strdup, but NULL stays NULL. */
char *mem_strdup_or_null(const char *text);

/* Formats into fresh memory. */
char *mem_printf(const char *format, ...) __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* Makes room for one more element in a growing array: when `count` has reached `*capacity` the array is enlarged
 * geometrically. Returns the (moved) array. For arrays whose growth our own code bounds. */
void *mem_grow(void *array, size_t count, size_t *capacity, size_t element_size) __attribute__((returns_nonnull));

#endif
