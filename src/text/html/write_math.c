/* Formulas: TeX where the page has it (annotations of MathML, scripts of MathJax, alternative texts), else MathML made
 * TeX; between dollar signs. What a page shows beside it for the eye is left out. */
#include "text/html/write_internal.h"

static bool is_tex_script(const struct writer *w, uint32_t node)
{
    return w->nodes[node].element == HTML_SCRIPT &&
           str_starts_with_nocase(str_trim(writer_attribute(w, node, HTML_ATTRIBUTE_TYPE)), STR("math/tex"));
}

void writer_survey_math(struct writer *w)
{
    for (uint32_t i = 0; i < w->tree->count; i++) {
        uint8_t element = w->nodes[i].element;
        if (element == HTML_MATH)
            w->has_math = true;
        else if (element == HTML_SCRIPT && is_tex_script(w, i))
            w->has_tex_scripts = true;
    }
}

bool writer_is_math_copy(const struct writer *w, uint32_t node)
{
    if (!w->has_math && !w->has_tex_scripts)
        return false;
    struct str classes = writer_attribute(w, node, HTML_ATTRIBUTE_CLASS);
    return classes.len && ((w->has_math && class_has(classes, "katex-html")) ||
                           (w->has_tex_scripts && class_has_prefix(classes, "MathJax")));
}

/* ---- writing ---- */

/* Without the wrapper that Wikipedia puts around every formula. */
static struct str trim_tex(struct str tex)
{
    static const char *const wrappers[] = {"{\\displaystyle ", "{\\textstyle ", "{\\scriptstyle "};
    tex = str_trim(tex);
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
        if (str_starts_with(tex, str_of(wrappers[i])) && str_ends_with(tex, STR("}")))
            tex = str_trim(str_slice(tex, strlen(wrappers[i]), tex.len - 1));
    return tex;
}

/* One line, white space collapsed; a dollar sign inside would end it, and a bar the cell. */
static void put_tex(struct writer *w, struct str tex)
{
    bool space = false, escaped = false;
    for (size_t i = 0; i < tex.len; i++) {
        char c = tex.data[i];
        if (ascii_is_space(c)) {
            space = true;
            escaped = false;
            continue;
        }
        if (space)
            writer_put_char(w, ' ');
        space = false;
        if (c == '|' && w->single == LINE_CELL) {
            writer_put_str(w, escaped ? STR("Vert ") : STR("\\vert "));
        } else {
            if (c == '$' && !escaped)
                writer_put_char(w, '\\');
            size_t end = i + 1; /* a character at once: the cap cuts between them */
            while (end < tex.len && ((unsigned char)tex.data[end] & 0xC0) == 0x80)
                end++;
            writer_put_str(w, str_slice(tex, i, end));
            i = end - 1;
        }
        escaped = c == '\\' && !escaped;
    }
}

static void put_formula(struct writer *w, struct str tex, bool display)
{
    tex = trim_tex(tex);
    if (!tex.len)
        return;
    bool block = display && w->single == LINE_FREE;
    bool plain = w->options.plain_text;
    if (block)
        writer_want(w, DUE_BLANK);
    writer_begin(w, CHAR_PUNCTUATION);
    if (!plain)
        writer_put(w, "$$", block ? 2 : 1);
    put_tex(w, tex);
    if (!plain)
        writer_put(w, "$$", block ? 2 : 1);
    w->plain_from = w->out->len;
    if (block)
        writer_want(w, DUE_BLANK);
    w->formula = tex;
    w->formula_end = w->out->len;
}

/* ---- where TeX stands ---- */

#define MOST_TEX      40 /* bytes of TeX for what is shown by commands alone */
#define TEX_FOR_SHOWN 24 /* more for each byte that is shown */

static bool is_tex_annotation(const struct writer *w, uint32_t node)
{
    if (w->nodes[node].element != HTML_ANNOTATION)
        return false;
    struct str encoding = writer_attribute(w, node, HTML_ATTRIBUTE_ENCODING);
    return str_find_nocase(encoding, STR("tex"), 0) != STR_NONE;
}

static bool is_display(const struct writer *w, uint32_t node)
{
    if (str_equal_ascii_nocase(writer_attribute(w, node, HTML_ATTRIBUTE_DISPLAY), STR("block")))
        return true;
    for (int level = 0; level < 5 && node; level++) {
        node = w->nodes[node].parent;
        if (class_has(writer_attribute(w, node, HTML_ATTRIBUTE_CLASS), "katex-display") ||
            str_equal_ascii_nocase(writer_attribute(w, node, HTML_ATTRIBUTE_DISPLAY), STR("true")))
            return true;
    }
    return false;
}

/* Whether TeX can be what the formula shows: a reader does not see it, so a text could be hidden in it. */
static bool tex_fits(const struct writer *w, uint32_t node, size_t tex_length)
{
    size_t shown = 0;
    for (uint32_t i = node + 1; i < w->nodes[node].end;) {
        uint8_t element = w->nodes[i].element;
        bool skipped = element == HTML_ANNOTATION || element == HTML_ANNOTATION_XML;
        shown += element == HTML_TEXT ? str_trim(w->nodes[i].text).len : 0;
        i = skipped ? w->nodes[i].end : i + 1;
    }
    return !shown || tex_length <= MOST_TEX + TEX_FOR_SHOWN * shown;
}

void writer_math(struct writer *w, uint32_t node)
{
    bool display = is_display(w, node);
    buf_reset(&w->scratch);
    for (uint32_t i = node + 1; i < w->nodes[node].end; i++) {
        if (!is_tex_annotation(w, i))
            continue;
        for (uint32_t k = i + 1; k < w->nodes[i].end; k++)
            if (w->nodes[k].element == HTML_TEXT)
                buf_add(&w->scratch, w->nodes[k].text);
        break;
    }
    struct str tex = str_trim(buf_str(&w->scratch));
    struct str alternative = writer_attribute(w, node, HTML_ATTRIBUTE_ALTTEXT);
    if (!tex_fits(w, node, tex.len)) {
        buf_reset(&w->scratch);
        tex.len = 0;
    }
    if (!tex_fits(w, node, alternative.len))
        alternative.len = 0;
    if (!tex.len && str_trim(alternative).len) {
        put_formula(w, alternative, display);
        return;
    }
    if (!tex.len)
        writer_mathml(w, node, &w->scratch);
    put_formula(w, buf_str(&w->scratch), display);
    w->formula = (struct str){0}; /* it was in the scratch buffer */
    if (str_trim(alternative).len)
        w->formula = trim_tex(alternative);
}

bool writer_math_script(struct writer *w, uint32_t node)
{
    if (!is_tex_script(w, node) || (w->marks && w->marks[node] & MARK_HIDDEN))
        return false;
    struct str type = writer_attribute(w, node, HTML_ATTRIBUTE_TYPE);
    uint32_t text = node + 1;
    if (text < w->nodes[node].end && w->nodes[text].element == HTML_TEXT)
        put_formula(w, w->nodes[text].text, str_find_nocase(type, STR("display"), 0) != STR_NONE);
    return true;
}

/* Pictures of formulas have their TeX as alternative text: Wikipedia's, LaTeXML's, WordPress's, Doxygen's. */
bool writer_math_image(struct writer *w, uint32_t node)
{
    struct str classes = writer_attribute(w, node, HTML_ATTRIBUTE_CLASS);
    struct str alt = trim_tex(writer_attribute(w, node, HTML_ATTRIBUTE_ALT));
    if (!alt.len ||
        !(class_has_prefix(classes, "mwe-math-fallback") || class_has(classes, "latex") || class_has(classes, "tex") ||
          class_has(classes, "formulaInl") || class_has(classes, "ltx_graphics_math")))
        return false;
    bool repeats = w->formula_end == w->out->len && w->formula_end && str_equal(alt, w->formula);
    if (repeats)
        return true;
    put_formula(w, alt, class_has_prefix(classes, "mwe-math-fallback-image-display"));
    return true;
}

/* ---- TeX in the text ---- */

#define MAX_TEXT_FORMULA 4000

/* Looks only where the search for an earlier formula has not been. */
static size_t find_end(struct writer *w, struct str text, struct str mark, size_t kind)
{
    struct str within = str_slice(text, 0, MAX_TEXT_FORMULA);
    size_t from = 2;
    if (w->searched[kind] > text.data + from)
        from = (size_t)(w->searched[kind] - text.data);
    size_t end = str_find(within, mark, from);
    if (end == STR_NONE && within.len)
        w->searched[kind] = within.data + within.len - 1;
    return end;
}

/* \(...\), \[...\], $$...$$, and $...$ when it has a letter behind a backslash, an index or an exponent, as prices do
 * not. */
size_t writer_formula_length(struct writer *w, struct str text)
{
    bool brackets = text.len > 4 && text.data[0] == '\\' && (text.data[1] == '(' || text.data[1] == '[');
    bool dollars = str_starts_with(text, STR("$$"));
    if (brackets || dollars) {
        size_t kind = dollars ? 0 : text.data[1] == '(' ? 1 : 2;
        static const char *const marks[] = {"$$", "\\)", "\\]"};
        size_t end = find_end(w, text, str_of(marks[kind]), kind);
        return end == STR_NONE || end == 2 ? 0 : end + 2;
    }
    if (text.len < 3 || text.data[0] != '$' || ascii_is_space(text.data[1]) || text.data[1] == '$')
        return 0;
    bool tex = false;
    for (size_t i = 1; i < text.len && i < 240; i++) {
        char c = text.data[i];
        if (c == '\n' && i + 1 < text.len && text.data[i + 1] == '\n')
            return 0;
        if (c == '$' && !ascii_is_space(text.data[i - 1]))
            return tex && (i + 1 == text.len || !ascii_is_alnum(text.data[i + 1])) ? i + 1 : 0;
        if (c == '\\' && i + 1 < text.len) {
            tex = tex || ascii_is_alpha(text.data[i + 1]);
            i++;
        }
        tex = tex || c == '^' || c == '_';
    }
    return 0;
}

void writer_text_formula(struct writer *w, struct str formula)
{
    bool single = formula.data[0] == '$' && formula.data[1] != '$';
    bool display = formula.data[1] == '$' || formula.data[1] == '[';
    size_t mark = single ? 1 : 2;
    struct str tex = str_trim(str_slice(formula, mark, formula.len - mark));
    writer_put(w, "$$", display ? 2 : 1);
    put_tex(w, tex);
    writer_put(w, "$$", display ? 2 : 1);
    w->plain_from = w->out->len;
}
