#include "text/html/names.h"

#include <string.h>

#define MAX_WORD 20
#define MAX_READ 1024

struct word {
    char text[MAX_WORD];
    uint8_t name;
};

#define WORD(text, name) {text, NAME_##name},

static const struct word words[] = {
    {"", 0}, /* slot 0 means none */
#include "text/html/names.inc"
};

#undef WORD

static uint32_t hash_word(const char *word, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)word[i]) * 16777619u;
    return hash ^ hash >> 15;
}

void html_names_init(struct html_names *names)
{
    const size_t mask = sizeof names->slots / sizeof names->slots[0] - 1;
    _Static_assert(sizeof words / sizeof words[0] < 700, "the look-up table is to stay sparse");
    memset(names, 0, sizeof *names);
    for (size_t i = 1; i < sizeof words / sizeof words[0]; i++) {
        size_t slot = hash_word(words[i].text, strlen(words[i].text)) & mask;
        while (names->slots[slot])
            slot = (slot + 1) & mask;
        names->slots[slot] = (uint16_t)i;
    }
}

static uint32_t find_word(const struct html_names *names, const char *word, size_t length)
{
    const size_t mask = sizeof names->slots / sizeof names->slots[0] - 1;
    for (size_t slot = hash_word(word, length) & mask; names->slots[slot]; slot = (slot + 1) & mask) {
        const struct word *found = &words[names->slots[slot]];
        if (memcmp(found->text, word, length) == 0 && found->text[length] == '\0')
            return 1u << found->name;
    }
    return 0;
}

uint32_t html_names_find(const struct html_names *names, struct str value)
{
    char word[MAX_WORD];
    size_t length = 0, limit = value.len < MAX_READ ? value.len : MAX_READ;
    uint32_t found = 0;
    bool after_small = false;
    for (size_t i = 0; i <= limit; i++) {
        char c = i < limit ? value.data[i] : ' ';
        bool letter = ascii_is_alpha(c), capital = c >= 'A' && c <= 'Z';
        if (!letter || (capital && after_small)) {
            if (length > 1 && length < MAX_WORD)
                found |= find_word(names, word, length);
            length = 0;
        }
        if (letter) {
            if (length < MAX_WORD)
                word[length] = ascii_lower(c);
            length++;
        }
        after_small = letter && !capital;
    }
    return found;
}
