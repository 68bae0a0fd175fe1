/* Office packages and books: parts of a ZIP by name, and the relations between them (ECMA-376 part 2). */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "readers/container.h"

#define MAX_LOADED    ((size_t)64 << 20)
#define MAX_RELATIONS 100000

static int compare_names(const char *a, const char *b)
{
    for (;; a++, b++) {
        unsigned char x = (unsigned char)ascii_lower(*a), y = (unsigned char)ascii_lower(*b);
        if (x != y || !x)
            return x < y ? -1 : x > y;
    }
}

static int compare_indexes(const void *a, const void *b, void *user)
{
    const struct package *package = user;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = compare_names(package->parts[x].name, package->parts[y].name);
    return order ? order : (x < y ? -1 : x > y);
}

static void sort_parts(struct package *package)
{
    package->by_name = mem_calloc(package->n_parts + 1, sizeof *package->by_name);
    for (size_t i = 0; i < package->n_parts; i++)
        package->by_name[i] = i;
    qsort_r(package->by_name, package->n_parts, sizeof *package->by_name, compare_indexes, package);
}

static const struct package_part *find_part(const struct package *package, struct str name)
{
    char *wanted = str_dup(name);
    size_t low = 0, high = package->n_parts;
    while (low < high) { /* the first of equal names: readers of packages differ there, the first is what ZIPs list */
        size_t middle = low + (high - low) / 2;
        if (compare_names(package->parts[package->by_name[middle]].name, wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct package_part *found = low < package->n_parts ? &package->parts[package->by_name[low]] : NULL;
    if (found && compare_names(found->name, wanted) != 0)
        found = NULL;
    free(wanted);
    return found;
}

static char *part_name(const char *stored)
{
    while (*stored == '/' || *stored == '\\')
        stored++;
    char *name = mem_strdup(stored);
    for (char *c = name; *c; c++)
        if (*c == '\\')
            *c = '/';
    return name;
}

static enum status add_part(struct package *package, struct container *container, const struct container_entry *entry,
                            package_wants_fn wants, size_t *room, struct error *error)
{
    package->parts = mem_grow(package->parts, package->n_parts, &package->capacity, sizeof *package->parts);
    struct package_part *part = &package->parts[package->n_parts++];
    *part = (struct package_part){.name = part_name(entry->name)};
    if (!wants(str_of(part->name)))
        return STATUS_OK;
    bool cut;
    buf_init(&part->bytes, *room);
    enum status status = container_load(container, &part->bytes, &cut, error);
    if (status == STATUS_OK && cut)
        return error_set(error, STATUS_TOO_BIG, "its parts are larger than %zu MB", MAX_LOADED >> 20);
    if (status == STATUS_SYNTAX) { /* one broken part need not spoil the others */
        reading_note(package->reading, "A part of the file is damaged; what could be read of it is here.");
        status = STATUS_OK;
    }
    part->loaded = status == STATUS_OK;
    *room -= part->bytes.len;
    return status;
}

enum status package_open(struct reading *reading, const struct document *document, package_wants_fn wants,
                         struct package *out, struct error *error)
{
    struct container *container;
    struct package package = {.reading = reading, .document = document};
    enum status status = container_open(reading, document, CONTAINER_ZIP, &container, error);
    if (status != STATUS_OK)
        return status;
    size_t room = MAX_LOADED;
    struct container_entry entry;
    while (status == STATUS_OK && (status = container_next(container, &entry, error)) == STATUS_OK)
        if (entry.is_file)
            status = add_part(&package, container, &entry, wants, &room, error);
    container_close(container);
    if (status == STATUS_SYNTAX && package.n_parts) {
        reading_note(reading, "The file is damaged or cut off; what could be read of it is here.");
        status = STATUS_NOT_FOUND;
    }
    if (status != STATUS_NOT_FOUND) {
        package_close(&package);
        return status;
    }
    sort_parts(&package);
    *out = package;
    return STATUS_OK;
}

void package_close(struct package *package)
{
    for (size_t i = 0; i < package->n_parts; i++) {
        free(package->parts[i].name);
        buf_finish(&package->parts[i].bytes);
    }
    free(package->parts);
    free(package->by_name);
    *package = (struct package){0};
}

struct str package_part(const struct package *package, struct str name)
{
    const struct package_part *part = find_part(package, name);
    return part ? buf_str(&part->bytes) : (struct str){0};
}

bool package_has(const struct package *package, struct str name)
{
    return find_part(package, name) != NULL;
}

static enum status parse_streamed(const struct package *package, const char *name, const struct xml_handler *handler,
                                  void *user, bool *damaged, struct error *error)
{
    struct container *container;
    struct container_entry entry;
    int entries = package->reading->entries_left; /* those were counted once */
    enum status status = container_open(package->reading, package->document, CONTAINER_ZIP, &container, error);
    if (status != STATUS_OK)
        return status;
    package->reading->entries_left = (int)package->n_parts * 2 + 1000;
    bool found = false;
    while (!found && (status = container_next(container, &entry, error)) == STATUS_OK) {
        char *other = part_name(entry.name);
        found = entry.is_file && compare_names(other, name) == 0;
        free(other);
    }
    package->reading->entries_left = entries;
    if (found) {
        const struct xml_source source = {.read = container_read, .read_user = container};
        struct error unused;
        status = xml_parse(package->reading, &source, handler, user, damaged, error);
        if (status == STATUS_IO)
            status = container_status(container, error ? error : &unused);
        if (status == STATUS_SYNTAX) {
            *damaged = true;
            status = STATUS_OK;
        }
    }
    container_close(container);
    return status;
}

enum status package_parse(const struct package *package, struct str name, const struct xml_handler *handler, void *user,
                          struct error *error)
{
    const struct package_part *part = find_part(package, name);
    if (!part)
        return error_set(error, STATUS_NOT_FOUND, "its part %.*s is missing", STR_ARG(str_slice(name, 0, 200)));
    bool damaged = false;
    enum status status;
    if (part->loaded) {
        const struct xml_source source = {.bytes = buf_str(&part->bytes)};
        status = xml_parse(package->reading, &source, handler, user, &damaged, error);
    } else {
        status = parse_streamed(package, part->name, handler, user, &damaged, error);
    }
    if (damaged)
        reading_note(package->reading, "A part of the file is damaged; what could be read of it is here.");
    return status;
}

char *package_resolve(struct str part, struct str target)
{
    struct buf path;
    buf_init(&path, BUF_UNBOUNDED);
    target = str_slice(target, 0, str_find_char(target, '#', 0));
    if (str_starts_with(target, STR("/"))) {
        target = str_slice(target, 1, target.len);
    } else {
        size_t slash = str_rfind_char(part, '/');
        buf_add(&path, slash == STR_NONE ? (struct str){0} : str_slice(part, 0, slash));
    }
    struct str step;
    while (str_split_next(&target, '/', &step)) {
        if (!step.len || str_equal(step, STR(".")))
            continue;
        if (str_equal(step, STR(".."))) {
            size_t slash = str_rfind_char(buf_str(&path), '/');
            buf_truncate(&path, slash == STR_NONE ? 0 : slash);
            continue;
        }
        if (path.len)
            buf_add_char(&path, '/');
        buf_add(&path, step);
    }
    return buf_take(&path);
}

/* ---- relations ---- */

struct relation_list {
    struct relations *relations;
    struct str part;
};

static void on_relation(void *user, const struct xml_element *element)
{
    struct relation_list *list = user;
    struct relations *relations = list->relations;
    if (!xml_is(element, "Relationship") || relations->count >= MAX_RELATIONS)
        return;
    struct str type = xml_attribute(element, "Type"), target = xml_attribute(element, "Target");
    bool external = str_equal(xml_attribute(element, "TargetMode"), STR("External"));
    size_t slash = str_rfind_char(type, '/');
    relations->items = mem_grow(relations->items, relations->count, &relations->capacity, sizeof *relations->items);
    relations->items[relations->count++] = (struct relation){
        .id = str_dup(xml_attribute(element, "Id")),
        .type = str_dup(str_slice(type, slash == STR_NONE ? 0 : slash + 1, type.len)),
        .target = external ? str_dup(target) : package_resolve(list->part, target),
        .external = external,
    };
}

static int compare_relations(const void *a, const void *b)
{
    const struct relation *x = a, *y = b;
    return strcmp(x->id, y->id);
}

enum status relations_load(const struct package *package, struct str part, struct relations *out, struct error *error)
{
    static const struct xml_handler handler = {.start = on_relation};
    *out = (struct relations){0};
    size_t slash = str_rfind_char(part, '/');
    size_t folder = slash == STR_NONE ? 0 : slash + 1;
    char *name = mem_printf("%.*s_rels/%.*s.rels", STR_ARG(str_slice(part, 0, folder)),
                            STR_ARG(str_slice(part, folder, part.len)));
    struct relation_list list = {out, part};
    enum status status = STATUS_OK;
    if (package_has(package, str_of(name)))
        status = package_parse(package, str_of(name), &handler, &list, error);
    free(name);
    if (status != STATUS_OK) {
        relations_finish(out);
        return status;
    }
    if (out->count) /* the order of the file does not matter */
        qsort(out->items, out->count, sizeof *out->items, compare_relations);
    return STATUS_OK;
}

void relations_finish(struct relations *relations)
{
    for (size_t i = 0; i < relations->count; i++) {
        free(relations->items[i].id);
        free(relations->items[i].type);
        free(relations->items[i].target);
    }
    free(relations->items);
    *relations = (struct relations){0};
}

const struct relation *relations_by_id(const struct relations *relations, struct str id)
{
    size_t low = 0, high = relations->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(str_of(relations->items[middle].id), id);
        if (order == 0)
            return &relations->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct relation *relations_by_type(const struct relations *relations, const char *type)
{
    for (size_t i = 0; i < relations->count; i++)
        if (strcmp(relations->items[i].type, type) == 0)
            return &relations->items[i];
    return NULL;
}

/* ---- properties ---- */

struct properties {
    struct reader_text *out;
    char **field;
    struct buf text;
};

static void on_property(void *user, const struct xml_element *element)
{
    struct properties *properties = user;
    struct reader_text *out = properties->out;
    buf_reset(&properties->text);
    properties->field = xml_is(element, "title")             ? &out->title
                        : xml_is(element, "creator")         ? &out->author
                        : xml_is(element, "initial-creator") ? &out->author
                        : xml_is(element, "language")        ? &out->language
                        : xml_is(element, "description")     ? &out->description
                        : xml_is(element, "modified")        ? &out->date
                        : xml_is(element, "date")            ? &out->date
                                                             : NULL;
}

static void on_property_text(void *user, struct str text)
{
    struct properties *properties = user;
    if (properties->field && properties->text.len + text.len < 2000)
        buf_add(&properties->text, text);
}

static void on_property_end(void *user, const char *name)
{
    (void)name;
    struct properties *properties = user;
    struct str text = str_trim(buf_str(&properties->text));
    if (properties->field && !*properties->field && text.len)
        *properties->field = str_dup(text);
    properties->field = NULL;
}

enum status package_properties(const struct package *package, struct str part, struct reader_text *out,
                               struct error *error)
{
    static const struct xml_handler handler = {on_property, on_property_end, on_property_text};
    struct properties properties = {.out = out};
    if (!package_has(package, part))
        return STATUS_OK;
    buf_init(&properties.text, BUF_UNBOUNDED);
    enum status status = package_parse(package, part, &handler, &properties, error);
    buf_finish(&properties.text);
    return status;
}
