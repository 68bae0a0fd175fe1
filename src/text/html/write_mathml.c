/* MathML (www.w3.org/TR/mathml-core) to TeX. Every element is a little program: texts and children in turn, so that
 * nothing recurses and children can come in another order than they are written (\sqrt[n]{x} has the index first). */
#include "core/utf8.h"
#include "text/html/write_internal.h"

#define MAX_MATH_DEPTH 64 /* deeper elements are written as their text */
#define MAX_STEPS      9
#define END            UINT32_MAX

/* A text, and a child behind it; 0 is no child. */
struct step {
    const char *text;
    uint32_t child;
};

struct frame {
    struct step steps[MAX_STEPS];
    uint8_t n_steps, at;
    uint32_t next, end;    /* of a row: the children from next to end */
    const char *separator; /* between the children of a row */
    const char *close;
    bool first;
};

struct symbol {
    const char *character;
    const char *tex;
};

static const struct symbol symbols[] = {
#define SYMBOL(character, tex) {character, tex},
#define ACCENT(character, tex)
#include "text/html/mathml_symbols.inc"
#undef SYMBOL
#undef ACCENT
};

static const struct symbol accents[] = {
#define SYMBOL(character, tex)
#define ACCENT(character, tex) {character, tex},
#include "text/html/mathml_symbols.inc"
#undef SYMBOL
#undef ACCENT
};

static const char *const functions[] = {"sin",  "cos",    "tan",    "cot",    "sec",    "csc",   "sinh", "cosh",
                                        "tanh", "log",    "ln",     "exp",    "lim",    "max",   "min",  "sup",
                                        "inf",  "det",    "dim",    "ker",    "gcd",    "arg",   "deg",  "hom",
                                        "Pr",   "arcsin", "arccos", "arctan", "limsup", "liminf"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *find_symbol(const struct symbol *table, size_t count, struct str text)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(text, str_of(table[i].character)))
            return table[i].tex;
    return NULL;
}

/* ---- output ---- */

/* A name behind a backslash and a letter would become one. */
static void emit(struct buf *out, struct str text)
{
    if (!text.len)
        return;
    size_t at = out->len;
    while (at && out->len - at < 24 && ascii_is_alpha(out->data[at - 1]))
        at--;
    if (at && at < out->len && out->data[at - 1] == '\\' && ascii_is_alpha(text.data[0]))
        buf_add_char(out, ' ');
    buf_add(out, text);
}

static void emit_text(struct buf *out, const char *text)
{
    if (text)
        emit(out, str_of(text));
}

/* Characters one by one, those that TeX has by name as that. */
static void emit_symbols(struct buf *out, struct str text)
{
    while (text.len) {
        size_t length;
        enum sequence sequence = sequence_at(text, &length);
        struct str one = str_slice(text, 0, length);
        const char *tex = find_symbol(symbols, COUNT(symbols), one);
        if (tex)
            emit_text(out, tex);
        else if (sequence == SEQUENCE_TEXT && !ascii_is_space(one.data[0]))
            emit(out, one);
        text = str_slice(text, length, text.len);
    }
}

/* ---- leaves ---- */

static void text_of(const struct writer *w, uint32_t node, struct buf *out)
{
    for (uint32_t i = node; i < w->nodes[node].end; i++)
        if (w->nodes[i].element == HTML_TEXT)
            buf_add(out, w->nodes[i].text);
}

static bool is_ascii_word(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_alnum(text.data[i]))
            return false;
    return text.len > 0;
}

static void emit_identifier(struct buf *out, struct str text)
{
    for (size_t i = 0; i < COUNT(functions); i++) {
        if (!str_equal(text, str_of(functions[i])))
            continue;
        emit_text(out, "\\");
        buf_add(out, text);
        return;
    }
    if (text.len > 1 && is_ascii_word(text)) {
        emit_text(out, "\\mathrm{");
        buf_add(out, text);
        buf_add_char(out, '}');
        return;
    }
    emit_symbols(out, text);
}

static bool is_leaf(uint8_t element)
{
    return element == HTML_MI || element == HTML_MN || element == HTML_MO || element == HTML_MTEXT ||
           element == HTML_MS || element == HTML_TEXT || element == HTML_MSPACE;
}

static void emit_leaf(const struct writer *w, uint32_t node, struct buf *out)
{
    struct buf raw;
    buf_init(&raw, BUF_UNBOUNDED);
    text_of(w, node, &raw);
    struct str text = str_trim(buf_str(&raw));
    uint8_t element = w->nodes[node].element;
    if (element == HTML_MSPACE) {
        emit_text(out, "\\,");
    } else if (element == HTML_MTEXT || element == HTML_MS) {
        if (text.len) {
            emit_text(out, "\\text{");
            buf_add(out, buf_str(&raw));
            buf_add_char(out, '}');
        }
    } else if (element == HTML_MI || (element == HTML_MO && text.len > 1 && is_ascii_word(text))) {
        emit_identifier(out, text);
    } else {
        emit_symbols(out, text);
    }
    buf_finish(&raw);
}

/* ---- elements ---- */

/* The n-th child that is an element, from 0; END when there are fewer. */
static uint32_t child_of(const struct writer *w, uint32_t node, uint32_t n)
{
    for (uint32_t i = node + 1; i < w->nodes[node].end; i = w->nodes[i].end)
        if (w->nodes[i].element != HTML_TEXT && n-- == 0)
            return i;
    return END;
}

static void add(struct frame *frame, const char *text, uint32_t child)
{
    if (frame->n_steps < MAX_STEPS)
        frame->steps[frame->n_steps++] = (struct step){text, child == END ? 0 : child};
}

/* The character that a leaf is, for accents and operators. */
static struct str leaf_text(const struct writer *w, uint32_t node)
{
    if (node == END || node + 1 >= w->nodes[node].end || w->nodes[node + 1].element != HTML_TEXT)
        return (struct str){0};
    return str_trim(w->nodes[node + 1].text);
}

/* Over and under: an accent, the limits of an operator, or a line above another. */
static void add_over_under(const struct writer *w, struct frame *frame, uint32_t node, uint32_t under, uint32_t over)
{
    uint32_t base = child_of(w, node, 0);
    uint32_t only = under == END ? over : under;
    if (under == END || over == END) {
        const char *accent = only == END ? NULL : find_symbol(accents, COUNT(accents), leaf_text(w, only));
        if (accent) {
            add(frame, accent, base);
            add(frame, "}", END);
            return;
        }
    }
    bool limits = base != END && w->nodes[base].element == HTML_MO;
    limits = limits || str_starts_with(leaf_text(w, base), STR("lim")) || str_equal(leaf_text(w, base), STR("max")) ||
             str_equal(leaf_text(w, base), STR("min")) || str_equal(leaf_text(w, base), STR("sup")) ||
             str_equal(leaf_text(w, base), STR("inf"));
    if (!limits && under != END && over == END) {
        add(frame, "\\underset{", under);
        add(frame, "}{", base);
        add(frame, "}", END);
        return;
    }
    if (!limits && over != END && under == END) {
        add(frame, "\\overset{", over);
        add(frame, "}{", base);
        add(frame, "}", END);
        return;
    }
    add(frame, NULL, base);
    if (under != END) {
        add(frame, "_{", under);
        add(frame, "}", END);
    }
    if (over != END) {
        add(frame, "^{", over);
        add(frame, "}", END);
    }
}

static void add_scripts(const struct writer *w, struct frame *frame, uint32_t node, uint32_t sub, uint32_t sup)
{
    uint32_t base = child_of(w, node, 0);
    bool braces = base != END && !is_leaf(w->nodes[base].element);
    add(frame, braces ? "{" : NULL, base);
    if (braces)
        add(frame, "}", END);
    if (sub != END) {
        add(frame, "_{", sub);
        add(frame, "}", END);
    }
    if (sup != END) {
        add(frame, "^{", sup);
        add(frame, "}", END);
    }
}

static void add_row(const struct writer *w, struct frame *frame, uint32_t node, const char *separator,
                    const char *close)
{
    frame->next = node + 1;
    frame->end = w->nodes[node].end;
    frame->separator = separator;
    frame->close = close;
    frame->first = true;
}

static void open_element(const struct writer *w, struct frame *frame, uint32_t node)
{
    *frame = (struct frame){0};
    uint32_t first = child_of(w, node, 0), second = child_of(w, node, 1), third = child_of(w, node, 2);
    switch ((int)w->nodes[node].element) {
    case HTML_MFRAC:
        add(frame, "\\frac{", first);
        add(frame, "}{", second);
        add(frame, "}", END);
        return;
    case HTML_MROOT:
        add(frame, "\\sqrt[", second);
        add(frame, "]{", first);
        add(frame, "}", END);
        return;
    case HTML_MSQRT:
        add(frame, "\\sqrt{", END);
        add_row(w, frame, node, NULL, "}");
        return;
    case HTML_MSUB:
        add_scripts(w, frame, node, second, END);
        return;
    case HTML_MSUP:
        add_scripts(w, frame, node, END, second);
        return;
    case HTML_MSUBSUP:
    case HTML_MMULTISCRIPTS:
        add_scripts(w, frame, node, second, third);
        return;
    case HTML_MUNDER:
        add_over_under(w, frame, node, second, END);
        return;
    case HTML_MOVER:
        add_over_under(w, frame, node, END, second);
        return;
    case HTML_MUNDEROVER:
        add_over_under(w, frame, node, second, third);
        return;
    case HTML_MTABLE:
        add(frame, "\\begin{matrix} ", END);
        add_row(w, frame, node, " \\\\ ", " \\end{matrix}");
        return;
    case HTML_MTR:
    case HTML_MLABELEDTR:
        add_row(w, frame, node, " & ", NULL);
        return;
    case HTML_MFENCED:
        add(frame, "\\left(", END);
        add_row(w, frame, node, ",", "\\right)");
        return;
    case HTML_SEMANTICS:
    case HTML_MACTION:
        add(frame, NULL, first);
        return;
    default:
        add_row(w, frame, node, NULL, NULL);
    }
}

/* The child to go on with, after writing what stands before it; 0 when the element has ended. */
static uint32_t next_child(const struct writer *w, struct frame *frame, struct buf *out)
{
    while (frame->at < frame->n_steps) {
        const struct step *step = &frame->steps[frame->at++];
        emit_text(out, step->text);
        if (step->child)
            return step->child;
    }
    while (frame->next < frame->end) {
        uint32_t child = frame->next;
        frame->next = w->nodes[child].end;
        if (w->nodes[child].element == HTML_TEXT && !str_trim(w->nodes[child].text).len)
            continue;
        if (!frame->first)
            emit_text(out, frame->separator);
        frame->first = false;
        return child;
    }
    emit_text(out, frame->close);
    return 0;
}

void writer_mathml(const struct writer *w, uint32_t node, struct buf *out)
{
    struct frame frames[MAX_MATH_DEPTH];
    size_t depth = 1;
    open_element(w, &frames[0], node);
    while (depth) {
        uint32_t child = next_child(w, &frames[depth - 1], out);
        if (!child) {
            depth--;
            continue;
        }
        uint8_t element = w->nodes[child].element;
        if (element == HTML_MPHANTOM || element == HTML_ANNOTATION || element == HTML_ANNOTATION_XML ||
            element == HTML_NONE || element == HTML_MPRESCRIPTS)
            continue;
        if (is_leaf(element) || depth == MAX_MATH_DEPTH)
            emit_leaf(w, child, out);
        else
            open_element(w, &frames[depth++], child);
    }
}
