#include "text/tokenizer/image.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h> /* the same hash with the vectors that this processor has */
#endif

#define IMAGE_ALIGNMENT 64
#define IMAGE_MAGIC     "fathtok"
#define IMAGE_ORDER     0x01020304u
#define PAGE            ((size_t)4096)
#define PAGES_AHEAD     2

struct image_extent {
    uint64_t offset, len; /* from the image's first byte */
};

struct image_header {
    char magic[8];
    uint32_t order;   /* IMAGE_ORDER as this machine writes it */
    uint32_t version; /* IMAGE_VERSION */
    uint64_t len;     /* of the whole image */
    uint64_t hash;    /* XXH3 of the whole, with this field 0 */
    uint32_t word;    /* sizeof(size_t) */
    char source_hash[HASH_HEX_SIZE];
    struct image_extent sections[IMAGE_SECTIONS];
};

static void pad(struct buf *out, size_t start)
{
    static const char zeros[IMAGE_ALIGNMENT];
    size_t over = (out->len - start) % IMAGE_ALIGNMENT;
    if (over != 0)
        buf_add(out, str_make(zeros, IMAGE_ALIGNMENT - over));
}

static struct image_header read_header(const void *bytes)
{
    struct image_header header;
    memcpy(&header, bytes, sizeof header);
    return header;
}

void image_begin(struct image_writer *writer, struct buf *out, const char source_hash[HASH_HEX_SIZE])
{
    *writer = (struct image_writer){out, out->len};
    struct image_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, IMAGE_MAGIC, sizeof header.magic);
    header.order = IMAGE_ORDER;
    header.version = IMAGE_VERSION;
    header.word = sizeof(size_t);
    memcpy(header.source_hash, source_hash, HASH_HEX_SIZE - 1);
    buf_add(out, str_make((const char *)&header, sizeof header));
    pad(out, writer->start);
}

void image_add(struct image_writer *writer, enum image_section section, const void *bytes, size_t len)
{
    struct image_header header = read_header(writer->out->data + writer->start);
    header.sections[section] = (struct image_extent){writer->out->len - writer->start, len};
    memcpy(writer->out->data + writer->start, &header, sizeof header);
    buf_add(writer->out, str_make(bytes, len));
    pad(writer->out, writer->start);
}

/* An image that is mapped for the first time for long comes from main memory, and what prefetches there stops at each
 * page's end: so the pages that come next are asked for here, which is half as fast again. */
static void prefetch_page(const unsigned char *at)
{
    for (size_t i = 0; i < PAGE; i += IMAGE_ALIGNMENT)
        __builtin_prefetch(at + i, 0, 2);
}

struct str image_added(const struct image_writer *writer, enum image_section section)
{
    const char *start = writer->out->data + writer->start;
    struct image_header header = read_header(start);
    return str_make(start + header.sections[section].offset, (size_t)header.sections[section].len);
}

static void hash_add_part(XXH3_state_t *state, const void *bytes, size_t len)
{
    if (XXH3_64bits_update(state, bytes, len) != XXH_OK)
        abort(); /* only where one of the two is NULL */
}

static uint64_t hash_of(struct image_header header, const unsigned char *bytes)
{
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL || XXH3_64bits_reset(state) != XXH_OK)
        abort(); /* out of memory, as in core/mem.h */
    header.hash = 0;
    hash_add_part(state, &header, sizeof header);
    for (size_t at = sizeof header, len = (size_t)header.len; at < len; at += PAGE) {
        if (len - at > (PAGES_AHEAD + 1) * PAGE)
            prefetch_page(bytes + at + PAGES_AHEAD * PAGE);
        hash_add_part(state, bytes + at, len - at < PAGE ? len - at : PAGE);
    }
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
}

void image_end(struct image_writer *writer)
{
    unsigned char *bytes = (unsigned char *)writer->out->data + writer->start;
    struct image_header header = read_header(bytes);
    header.len = writer->out->len - writer->start;
    header.hash = hash_of(header, bytes);
    memcpy(bytes, &header, sizeof header);
}

static bool extents_fit(const struct image_header *header)
{
    for (size_t i = 0; i < IMAGE_SECTIONS; i++) {
        const struct image_extent *at = &header->sections[i];
        if (at->offset % IMAGE_ALIGNMENT != 0 || at->offset > header->len || at->len > header->len - at->offset)
            return false;
    }
    return true;
}

enum status image_open(struct image *image, struct str bytes, struct error *error)
{
    struct image_header header;
    if (bytes.len < sizeof header)
        return error_set(error, STATUS_INVALID, "the compiled tokenizer is cut short");
    if ((uintptr_t)bytes.data % IMAGE_ALIGNMENT != 0)
        return error_set(error, STATUS_INVALID, "the compiled tokenizer does not begin at a multiple of %d bytes",
                         IMAGE_ALIGNMENT);
    header = read_header(bytes.data);
    if (memcmp(header.magic, IMAGE_MAGIC, sizeof header.magic) != 0)
        return error_set(error, STATUS_INVALID, "this is no compiled tokenizer");
    if (header.order != IMAGE_ORDER || header.word != sizeof(size_t))
        return error_set(error, STATUS_INVALID, "the tokenizer was compiled on another kind of machine");
    if (header.version != IMAGE_VERSION)
        return error_set(error, STATUS_INVALID, "the tokenizer was compiled by another version of this program");
    if (header.len != bytes.len || !extents_fit(&header) || header.source_hash[HASH_HEX_SIZE - 1] != '\0' ||
        header.hash != hash_of(header, (const unsigned char *)bytes.data))
        return error_set(error, STATUS_INVALID, "the compiled tokenizer is damaged");
    *image = (struct image){(const unsigned char *)bytes.data, bytes.len};
    return STATUS_OK;
}

struct str image_section(const struct image *image, enum image_section section)
{
    const struct image_header *header = (const struct image_header *)(const void *)image->bytes;
    const struct image_extent *at = &header->sections[section];
    return str_make((const char *)image->bytes + at->offset, (size_t)at->len);
}

const char *image_source_hash(const struct image *image)
{
    return ((const struct image_header *)(const void *)image->bytes)->source_hash;
}
