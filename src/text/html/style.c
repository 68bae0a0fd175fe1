/* Inline styles, as far as they hide: declarations after CSS Syntax Module Level 3. Where a reading is in doubt, the
 * one that hides counts. */
#include <stdlib.h>
#include <string.h>

#include "text/html/visible.h"

#define MAX_NAME  32
#define MAX_VALUE 160 /* bytes of a value that are read */
#define FAR_OFF   (-999.0)
#define FAINT     0.05

/* What one style says, collected over its declarations. */
struct look {
    bool gone;     /* not displayed, or nowhere to be seen */
    bool clear;    /* transparent */
    bool moves;    /* transformed */
    bool cut_off;  /* what does not fit is not shown */
    bool no_size;  /* no height or width */
    bool placed;   /* out of the flow */
    bool far_away; /* to a place off the screen */
};

struct declaration {
    char name[MAX_NAME], value[MAX_VALUE + 1]; /* the value NUL-terminated */
    size_t name_length, value_length;
};

static bool is(const struct declaration *declaration, const char *name)
{
    return str_equal((struct str){declaration->name, declaration->name_length}, str_of(name));
}

static bool value_is(const struct declaration *declaration, const char *value)
{
    struct str s = {declaration->value, declaration->value_length};
    return str_equal(str_trim(str_slice(s, 0, str_find_char(s, '!', 0))), str_of(value));
}

static bool value_has(const struct declaration *declaration, const char *word)
{
    return strstr(declaration->value, word) != NULL;
}

/* The number a text begins with, and what is behind it; false without one. */
static bool read_number(const char *text, double *number, const char **behind)
{
    char *end;
    text += strspn(text, " ");
    text += strncmp(text, "calc(", 5) == 0 ? 5 : 0;
    if (!ascii_is_digit(*text) && !strchr("+-.", *text))
        return false;
    *number = strtod(text, &end);
    if (end == text)
        return false;
    *behind = end;
    return true;
}

static double in_pixels(double number, const char *unit)
{
    static const struct {
        const char *unit;
        double pixels;
    } units[] = {{"em", 16}, {"rem", 16}, {"ex", 8},  {"ch", 8},   {"vw", 10},   {"vh", 10},
                 {"%", 4},   {"in", 96},  {"cm", 38}, {"mm", 3.8}, {"pt", 1.33}, {"pc", 16}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strncmp(unit, units[i].unit, strlen(units[i].unit)) == 0)
            return number * units[i].pixels;
    return number;
}

static bool length_of(const struct declaration *declaration, double *pixels)
{
    const char *unit;
    if (!read_number(declaration->value, pixels, &unit))
        return false;
    *pixels = in_pixels(*pixels, unit);
    return true;
}

static bool is_transparent(const char *text)
{
    double number;
    const char *unit;
    return read_number(text, &number, &unit) && (*unit == '%' ? number / 100 : number) < FAINT;
}

/* Whether a function of a value, "scale(", say, has an argument that makes nothing of what is shown. */
static bool is_nothing_by(const struct declaration *declaration, const char *function)
{
    const char *at = strstr(declaration->value, function);
    return at && is_transparent(at + strlen(function));
}

/* The size in the shorthand `font`: the first number that is 0, has a unit or stands before a '/'. */
static bool font_is_tiny(const char *text)
{
    for (double number; *text; text += strcspn(text, " "), text += *text == ' ') {
        const char *unit;
        if (!read_number(text, &number, &unit))
            continue;
        if (number == 0 || ascii_is_alpha(*unit) || *unit == '%' || *unit == '/')
            return in_pixels(number, unit) < 2;
    }
    return false;
}

/* rect(top, right, bottom, left), with or without commas. */
static bool rect_is_empty(const char *text)
{
    double sides[4];
    const char *at = strstr(text, "rect(");
    at = at ? at + 5 : "";
    for (size_t i = 0; i < 4; i++) {
        const char *unit;
        at += strspn(at, " ,");
        if (!read_number(at, &sides[i], &unit))
            return false;
        sides[i] = in_pixels(sides[i], unit);
        at = unit + strcspn(unit, " ,)");
    }
    return sides[2] - sides[0] < 2 || sides[1] - sides[3] < 2;
}

static bool clip_path_is_empty(const struct declaration *declaration)
{
    double number;
    const char *unit, *inset = strstr(declaration->value, "inset(");
    if (inset && read_number(inset + 6, &number, &unit))
        return *unit == '%' && number >= 50;
    return is_nothing_by(declaration, "circle(") || is_nothing_by(declaration, "ellipse(");
}

static void look_at(const struct declaration *d, struct look *look)
{
    double pixels = 0;
    bool has_length = length_of(d, &pixels);
    if (is(d, "display"))
        look->gone |= value_is(d, "none");
    else if (is(d, "visibility") || is(d, "content-visibility"))
        look->gone |= value_is(d, "hidden") || value_is(d, "collapse");
    else if (is(d, "opacity"))
        look->clear |= is_transparent(d->value);
    else if (is(d, "filter") || is(d, "-webkit-filter"))
        look->clear |= is_nothing_by(d, "opacity(");
    else if (is(d, "font-size"))
        look->gone |= has_length && pixels < 2;
    else if (is(d, "font"))
        look->gone |= font_is_tiny(d->value);
    else if (is(d, "zoom") || is(d, "scale"))
        look->gone |= is_transparent(d->value);
    else if (is(d, "clip"))
        look->gone |= rect_is_empty(d->value);
    else if (is(d, "clip-path") || is(d, "-webkit-clip-path"))
        look->gone |= clip_path_is_empty(d);
    else if (is(d, "transform") || is(d, "-webkit-transform")) {
        look->moves = true;
        look->gone |= is_nothing_by(d, "scale(") || is_nothing_by(d, "scalex(") || is_nothing_by(d, "scaley(") ||
                      is_nothing_by(d, "scale3d(");
    } else if (is(d, "overflow") || is(d, "overflow-x") || is(d, "overflow-y"))
        look->cut_off |= value_has(d, "hidden") || value_has(d, "clip");
    else if (is(d, "height") || is(d, "max-height") || is(d, "width") || is(d, "max-width") || is(d, "block-size") ||
             is(d, "max-block-size") || is(d, "inline-size") || is(d, "max-inline-size"))
        look->no_size |= has_length && pixels < 2;
    else if (is(d, "position"))
        look->placed |= value_is(d, "absolute") || value_is(d, "fixed") || value_is(d, "relative");
    else if (is(d, "left") || is(d, "top") || is(d, "right") || is(d, "bottom") || is(d, "inset"))
        look->far_away |= has_length && pixels <= FAR_OFF;
    else if (is(d, "margin-left") || is(d, "margin-top") || is(d, "text-indent") || is(d, "margin"))
        look->gone |= has_length && pixels <= FAR_OFF;
}

/* Reads an escape, behind its backslash; the character in lower case, '_' for one that no name has. */
static char read_escape(struct str *rest)
{
    uint32_t c = 0;
    size_t n = 0;
    for (; n < 6 && n < rest->len; n++) {
        char digit = ascii_lower(rest->data[n]);
        if (!ascii_is_digit(digit) && (digit < 'a' || digit > 'f'))
            break;
        c = c * 16 + (uint32_t)(ascii_is_digit(digit) ? digit - '0' : digit - 'a' + 10);
    }
    if (n == 0 && rest->len) {
        c = (unsigned char)rest->data[0];
        n = 1;
    } else if (n < rest->len && ascii_is_space(rest->data[n])) {
        n++;
    }
    *rest = str_slice(*rest, n, rest->len);
    bool kept = c > ' ' && c < 0x80 && c != ';' && c != ':';
    return kept ? ascii_lower((char)c) : '_';
}

enum comments { COMMENTS_OUTSIDE_STRINGS, COMMENTS_EVERYWHERE, COMMENTS_NOWHERE };

struct style_reader {
    struct str rest;
    enum comments comments;
    char quote; /* of the string it is in; NUL outside */
};

/* The next character of the style, in lower case, white space as a blank; false at the end. `syntax`: it is not from an
 * escape. */
static bool next_char(struct style_reader *reader, char *c, bool *syntax)
{
    while (reader->rest.len) {
        bool in_string = reader->comments == COMMENTS_OUTSIDE_STRINGS && reader->quote;
        if (reader->comments != COMMENTS_NOWHERE && !in_string && str_starts_with(reader->rest, STR("/*"))) {
            size_t end = str_find(reader->rest, STR("*/"), 2);
            reader->rest = str_slice(reader->rest, end == STR_NONE ? reader->rest.len : end + 2, reader->rest.len);
            continue;
        }
        *c = reader->rest.data[0];
        reader->rest = str_slice(reader->rest, 1, reader->rest.len);
        *syntax = *c != '\\';
        if (!*syntax)
            *c = read_escape(&reader->rest);
        else if (*c == reader->quote || (reader->quote && (*c == '\n' || *c == '\r' || *c == '\f')))
            reader->quote = '\0';
        else if (!reader->quote && (*c == '"' || *c == '\''))
            reader->quote = *c;
        *c = *syntax && ascii_is_space(*c) ? ' ' : ascii_lower(*c);
        return true;
    }
    return false;
}

/* Reads up to and with the next semicolon, also of one in a string; false at the end of the style. */
static bool next_declaration(struct style_reader *reader, struct declaration *out)
{
    bool in_value = false, any = false, syntax;
    size_t n = 0;
    out->name_length = out->value_length = 0;
    for (char c; next_char(reader, &c, &syntax); any = true) {
        if (syntax && c == ';')
            break;
        if (syntax && c == ':' && !in_value)
            in_value = true;
        else if (in_value && out->value_length < MAX_VALUE && (c != ' ' || out->value_length))
            out->value[out->value_length++] = c;
        else if (!in_value && c != ' ' && n++ < MAX_NAME)
            out->name[out->name_length++] = c;
    }
    out->value[out->value_length] = '\0';
    if (n > MAX_NAME)
        out->name_length = 0;
    return any || reader->rest.len;
}

static enum html_look look_of(struct str style, bool is_main, enum comments comments)
{
    struct style_reader reader = {.rest = style, .comments = comments};
    struct look look = {0};
    for (struct declaration declaration; next_declaration(&reader, &declaration);)
        if (declaration.name_length && declaration.value_length)
            look_at(&declaration, &look);
    if (look.gone || (look.no_size && look.cut_off) || (look.placed && look.far_away))
        return HTML_LOOK_HIDDEN;
    if (look.clear)
        return look.moves || is_main ? HTML_LOOK_APPEARS : HTML_LOOK_HIDDEN;
    return HTML_LOOK_SHOWN;
}

enum html_look html_look_of_style(struct str style, bool is_main)
{
    enum html_look look = look_of(style, is_main, COMMENTS_OUTSIDE_STRINGS);
    if (str_find(style, STR("/*"), 0) == STR_NONE)
        return look;
    enum html_look other = look_of(style, is_main, COMMENTS_EVERYWHERE);
    look = other > look ? other : look;
    other = look_of(style, is_main, COMMENTS_NOWHERE);
    return other > look ? other : look;
}
