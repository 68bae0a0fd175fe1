#include "net/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* Networks that are not the public internet, from the IANA special-purpose address registries and what clouds made of
 * single addresses. 0.0.0.0/8 reaches the host itself on Linux. */
static const struct {
    unsigned char address[4];
    int prefix_length;
} refused4[] = {
    {{0, 0, 0, 0}, 8},        /* "this" network, RFC 791 */
    {{10, 0, 0, 0}, 8},       /* private, RFC 1918 */
    {{100, 64, 0, 0}, 10},    /* carrier-grade NAT, RFC 6598; Alibaba's metadata server */
    {{127, 0, 0, 0}, 8},      /* loopback */
    {{168, 63, 129, 16}, 32}, /* Azure's host agent, though the address is a public one */
    {{169, 254, 0, 0}, 16},   /* link-local, RFC 3927; the metadata server of most clouds */
    {{172, 16, 0, 0}, 12},    /* private */
    {{192, 0, 0, 0}, 24},     /* IETF protocol assignments, RFC 6890; Oracle's metadata server */
    {{192, 0, 2, 0}, 24},     /* documentation, RFC 5737 */
    {{192, 31, 196, 0}, 24},  /* AS112, RFC 7535 */
    {{192, 52, 193, 0}, 24},  /* AMT relays, RFC 7450 */
    {{192, 88, 99, 0}, 24},   /* 6to4 relays, RFC 7526 */
    {{192, 168, 0, 0}, 16},   /* private */
    {{192, 175, 48, 0}, 24},  /* AS112, RFC 7534 */
    {{198, 18, 0, 0}, 15},    /* benchmarks, RFC 2544 */
    {{198, 51, 100, 0}, 24},  /* documentation */
    {{203, 0, 113, 0}, 24},   /* documentation */
    {{224, 0, 0, 0}, 4},      /* multicast, RFC 5771 */
    {{240, 0, 0, 0}, 4},      /* reserved, and the limited broadcast */
};

/* Within 2000::/3, outside of which nothing is public unicast: not loopback, unspecified, mapped, compatible, NAT64
 * (64:ff9b::/96, 64:ff9b:1::/48), discard (100::/64), unique-local, link-local, site-local, nor multicast. */
static const struct {
    unsigned char address[16];
    int prefix_length;
} refused6[] = {
    {{0x20, 0x01, 0x00, 0x00}, 23},             /* IETF protocol assignments: Teredo, benchmarks, ORCHID */
    {{0x20, 0x01, 0x0d, 0xb8}, 32},             /* documentation, RFC 3849 */
    {{0x20, 0x02}, 16},                         /* 6to4, RFC 3056 */
    {{0x26, 0x20, 0x00, 0x4f, 0x80, 0x00}, 48}, /* AS112 */
    {{0x3f, 0xff, 0x00}, 20},                   /* documentation, RFC 9637 */
    {{0x3f, 0xfe}, 16},                         /* the returned 6bone, RFC 3701 */
};

/* Whether the first `bits` bits are equal. */
static bool same_prefix(const unsigned char *a, const unsigned char *b, int bits)
{
    int whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, (size_t)whole) != 0)
        return false;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

static bool exempt(const struct guard *guard, int family, const unsigned char *address)
{
    for (size_t i = 0; guard && i < guard->n_exempt; i++) {
        const struct guard_network *network = &guard->exempt[i];
        if (network->family == family && same_prefix(network->address, address, network->prefix_length))
            return true;
    }
    return false;
}

static bool public4(const unsigned char address[4])
{
    for (size_t i = 0; i < sizeof refused4 / sizeof refused4[0]; i++)
        if (same_prefix(refused4[i].address, address, refused4[i].prefix_length))
            return false;
    return true;
}

static bool public6(const unsigned char address[16])
{
    if (address[0] >> 5 != 1) /* 2000::/3 */
        return false;
    for (size_t i = 0; i < sizeof refused6 / sizeof refused6[0]; i++)
        if (same_prefix(refused6[i].address, address, refused6[i].prefix_length))
            return false;
    /* ISATAP (RFC 5214, 6.1) may stand below any prefix: ::[0200:]5efe:a.b.c.d in the lower half. */
    static const unsigned char isatap[3] = {0x00, 0x5e, 0xfe};
    return !((address[8] & 0xfd) == 0 && memcmp(address + 9, isatap, sizeof isatap) == 0);
}

bool guard_address_allowed(const struct guard *guard, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        const unsigned char *bytes = (const unsigned char *)&in.sin_addr;
        return exempt(guard, AF_INET, bytes) || public4(bytes);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, address, sizeof in);
        const unsigned char *bytes = in.sin6_addr.s6_addr;
        return exempt(guard, AF_INET6, bytes) || public6(bytes);
    }
    return false;
}

bool guard_text_allowed(const struct guard *guard, const char *address)
{
    char text[INET6_ADDRSTRLEN];
    size_t len = strcspn(address, "%");
    if (len >= sizeof text)
        return false;
    memcpy(text, address, len);
    text[len] = '\0';

    struct sockaddr_in in4 = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &in4.sin_addr) == 1)
        return guard_address_allowed(guard, (const struct sockaddr *)&in4);
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
        return guard_address_allowed(guard, (const struct sockaddr *)&in6);
    return false;
}

void guard_init(struct guard *guard)
{
    *guard = (struct guard){0};
}

void guard_finish(struct guard *guard)
{
    if (!guard)
        return;
    free(guard->exempt);
    *guard = (struct guard){0};
}

/* Reads an address, in brackets or not, into `network`. */
static bool parse_address(struct str text, struct guard_network *network)
{
    if (text.len >= 2 && text.data[0] == '[' && text.data[text.len - 1] == ']') {
        text = str_slice(text, 1, text.len - 1);
        if (str_find_char(text, ':', 0) == STR_NONE)
            return false;
    }
    char copy[INET6_ADDRSTRLEN];
    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (strlen(copy) != text.len)
        return false;
    network->family = AF_INET;
    if (inet_pton(AF_INET, copy, network->address) == 1)
        return true;
    network->family = AF_INET6;
    return inet_pton(AF_INET6, copy, network->address) == 1;
}

static bool bits_beyond(const struct guard_network *network, int width)
{
    for (int bit = network->prefix_length; bit < width; bit++)
        if (network->address[bit / 8] & (0x80 >> (bit % 8)))
            return true;
    return false;
}

enum status guard_allow(struct guard *guard, struct str text, struct error *error)
{
    text = str_trim(text);
    struct guard_network network = {0};
    size_t slash = str_find_char(text, '/', 0);
    struct str address = str_slice(text, 0, slash);
    if (!parse_address(address, &network))
        return error_set(error, STATUS_INVALID,
                         "\"%.*s\" is no network: write an IPv4 or IPv6 address, with or without a prefix length, "
                         "as in 10.1.0.0/16 or ::1",
                         STR_ARG(text));
    int width = network.family == AF_INET ? 32 : 128;
    network.prefix_length = width;
    if (slash != STR_NONE) {
        int64_t prefix = -1;
        struct str digits = str_slice(text, slash + 1, text.len);
        bool is_number = digits.len > 0 && ascii_is_digit(digits.data[0]) && str_to_int64(digits, &prefix);
        if (!is_number || prefix > width)
            return error_set(error, STATUS_INVALID, "\"%.*s\": the prefix length is a number from 0 to %d",
                             STR_ARG(text), width);
        network.prefix_length = (int)prefix;
    }
    if (bits_beyond(&network, width)) {
        char bare[INET6_ADDRSTRLEN];
        for (int bit = network.prefix_length; bit < width; bit++)
            network.address[bit / 8] &= (unsigned char)~(0x80 >> (bit % 8));
        inet_ntop(network.family, network.address, bare, sizeof bare);
        return error_set(error, STATUS_INVALID, "\"%.*s\" has bits set beyond its prefix: %s/%d names the network",
                         STR_ARG(text), bare, network.prefix_length);
    }
    guard->exempt = mem_grow(guard->exempt, guard->n_exempt, &guard->capacity, sizeof *guard->exempt);
    guard->exempt[guard->n_exempt++] = network;
    return STATUS_OK;
}
