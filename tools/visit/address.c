/* What models write where an address is asked. */
#include "core/mem.h"
#include "net/url.h"
#include "tools/visit/rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

/* "[text](address)" and "text (address)" give what stands in the last parentheses. */
static struct str take_markdown_link(struct str text)
{
    size_t open = str_find(text, STR("]("), 0);
    if (open == STR_NONE)
        return text;
    text = str_slice(text, open + 2, text.len);
    size_t end = 0;
    for (int depth = 0; end < text.len && !ascii_is_space(text.data[end]); end++) {
        if (text.data[end] == '(')
            depth++;
        else if (text.data[end] == ')' && depth-- == 0)
            break;
    }
    return str_slice(text, 0, end);
}

static size_t count_char(struct str text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == c;
    return count;
}

/* Quotes, brackets and punctuation of the sentence around it; a closing parenthesis that the address itself opened
 * stays, as in Santa_Claus_(horse). */
static struct str peel(struct str text)
{
    text = str_trim(text);
    while (text.len > 0 && strchr("<\"'`([{*_", text.data[0]))
        text = str_slice(text, 1, text.len);
    while (text.len > 0) {
        char last = text.data[text.len - 1];
        bool closes = last == ')' && count_char(text, ')') <= count_char(text, '(');
        if (closes || !strchr(">\"'`)]}*,;.!?", last))
            break;
        text = str_slice(text, 0, text.len - 1);
    }
    return str_trim(text);
}

/* The length of "scheme:" in front, 0 where there is none. "host:8080" has none. */
static size_t scheme_length(struct str text)
{
    size_t i = 0;
    if (text.len == 0 || !ascii_is_alpha(text.data[0]))
        return 0;
    while (i < text.len && (ascii_is_alnum(text.data[i]) || strchr("+-.", text.data[i])))
        i++;
    if (i == text.len || text.data[i] != ':')
        return 0;
    return i + 1 < text.len && ascii_is_digit(text.data[i + 1]) ? 0 : i + 1;
}

static char *join(const char *front, struct str rest)
{
    return mem_printf("%s%.*s", front, STR_ARG(rest));
}

static enum visit_address judge(char **url)
{
    struct url parts;
    if (corpus_is_link(str_of(*url)))
        return VISIT_CORPUS;
    if (url_parse(str_of(*url), &parts, NULL) != STATUS_OK)
        return VISIT_NO_ADDRESS;
    bool web = strcmp(parts.scheme, "http") == 0 || strcmp(parts.scheme, "https") == 0;
    if (parts.user || parts.password) {
        char *bare = url_without_credentials(str_of(*url));
        free(*url);
        *url = bare;
    }
    url_finish(&parts);
    return web ? VISIT_WEB : VISIT_BAD_SCHEME;
}

/* The address of what is named by its identifier: "doi:10.1000/182", "10.1000/182", "arXiv:2301.00001v2",
 * "PMID: 123456", "PMC123456". NULL for anything else. */
static char *by_identifier(struct str text)
{
    static const char *const doi_marks[] = {"doi:", "DOI ", "doi "};
    struct str doi = text;
    for (size_t i = 0; i < sizeof doi_marks / sizeof doi_marks[0]; i++) {
        if (str_starts_with_nocase(text, str_of(doi_marks[i])))
            doi = str_trim(str_slice(text, strlen(doi_marks[i]), text.len));
    }
    size_t slash = str_find_char(doi, '/', 0);
    if (str_starts_with(doi, STR("10.")) && slash != STR_NONE && slash >= 7 && slash <= 12 &&
        rewrite_is_digits(str_slice(doi, 3, 7)) && str_find_char(doi, ' ', 0) == STR_NONE && doi.len > slash + 1)
        return join("https://doi.org/", doi);
    if (str_starts_with_nocase(text, STR("arxiv:")) && rewrite_is_arxiv(str_trim(str_slice(text, 6, text.len))))
        return join("https://arxiv.org/abs/", str_trim(str_slice(text, 6, text.len)));
    if (str_starts_with_nocase(text, STR("pmid:")) && rewrite_is_digits(str_trim(str_slice(text, 5, text.len))))
        return join("https://pubmed.ncbi.nlm.nih.gov/", str_trim(str_slice(text, 5, text.len)));
    if (str_starts_with(text, STR("PMC")) && rewrite_is_digits(str_slice(text, 3, text.len)))
        return join("https://pmc.ncbi.nlm.nih.gov/articles/", text);
    return NULL;
}

char *visit_address_clean(struct str given, enum visit_address *kind, bool *assumed, char **fragment)
{
    char *line = line_make(given, URL_MAX_LENGTH);
    struct str text = peel(take_markdown_link(str_of(line)));
    bool corpus = corpus_is_link(text);
    size_t hash = corpus ? STR_NONE : str_find_char(text, '#', 0);
    char *url = by_identifier(text);
    *assumed = false;
    if (fragment)
        *fragment = hash != STR_NONE && !url ? str_dup(str_slice(text, hash + 1, text.len)) : NULL;
    if (hash != STR_NONE)
        text = str_slice(text, 0, hash);
    if (url) {
        /* an identifier is whole as it is */
    } else if (str_starts_with(text, STR("//"))) {
        url = join("https:", text);
    } else if (corpus || scheme_length(text) > 0) {
        url = str_dup(text);
    } else {
        /* Without a dot or a port it is a word, not a host. */
        *assumed = str_find_char(text, '.', 0) != STR_NONE || str_find_char(text, ':', 0) != STR_NONE ||
                   str_starts_with_nocase(text, STR("localhost"));
        url = join(*assumed ? "https://" : "", text);
    }
    *kind = judge(&url);
    if (*kind == VISIT_NO_ADDRESS && scheme_length(str_of(url)) > 0 && !str_starts_with_nocase(text, STR("http")))
        *kind = VISIT_BAD_SCHEME;
    free(line);
    return url;
}
