#include "core/hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

/* The digest context goes by the name of our opaque struct. */
static EVP_MD_CTX *context_of(struct hash *hash)
{
    return (EVP_MD_CTX *)hash;
}

/* SHA-256 of bytes in memory fails only for lack of memory. */
static void must(int done)
{
    if (done == 1)
        return;
    fputs("fathom: SHA-256 is not available\n", stderr);
    abort();
}

struct hash *hash_begin(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    must(context && EVP_DigestInit_ex(context, EVP_sha256(), NULL));
    return (struct hash *)context;
}

void hash_add(struct hash *hash, struct str bytes)
{
    must(bytes.len == 0 || EVP_DigestUpdate(context_of(hash), bytes.data, bytes.len));
}

void hash_add_field(struct hash *hash, struct str bytes)
{
    unsigned char length[8];
    for (size_t i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)bytes.len >> (8 * i));
    hash_add(hash, str_make((const char *)length, sizeof length));
    hash_add(hash, bytes);
}

void hash_end(struct hash *hash, char hex[HASH_HEX_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    must(EVP_DigestFinal_ex(context_of(hash), digest, &length));
    EVP_MD_CTX_free(context_of(hash));
    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
