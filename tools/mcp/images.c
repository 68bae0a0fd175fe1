/* tools/mcp/images.c: what the images of a result show, in words of the model that has the vision role. */
#include "tools/mcp/internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "protocol/profile.h"

#define MAX_IMAGE ((size_t)8 * 1024 * 1024) /* bytes of one image */

/* One image that is being looked at; lives until the model has said something, also past its call. */
struct look {
    struct mcp_images *images; /* NULL when nobody wants it any more */
    size_t index;
};

struct mcp_images {
    char *captions[MCP_MAX_CAPTIONS]; /* NULL where there is none */
    struct look *looks[MCP_MAX_CAPTIONS];
    size_t waiting;
    void (*done)(void *user);
    void *user;
};

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Appends what a base64 text (RFC 4648, section 4) stands for; false when it is none or too much. */
static bool decode(struct str text, struct buf *out)
{
    unsigned bits = 0;
    int count = 0;
    while (text.len > 0 && text.data[text.len - 1] == '=')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.data[i]);
        if (digit < 0)
            return false;
        bits = (bits << 6 | (unsigned)digit) & 0xffffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            if (buf_append_char(out, (char)(bits >> count & 0xff)) != STATUS_OK)
                return false;
        }
    }
    return out->len > 0;
}

static void seen(void *user, const struct tool_completion *completion)
{
    struct look *look = user;
    struct mcp_images *images = look->images;
    size_t index = look->index;
    free(look);
    if (images == NULL)
        return;
    images->looks[index] = NULL;
    if (completion->status == STATUS_OK && str_trim(completion->text).len > 0)
        images->captions[index] = str_dup(str_trim(completion->text));
    if (--images->waiting == 0)
        images->done(images->user);
}

static void look_at(struct mcp_images *images, size_t index, const json_t *item, struct tool_run *run)
{
    struct buf bytes, prompt;
    struct str type = json_get_str(item, "mimeType"), question = tool_question(run);
    buf_init(&bytes, MAX_IMAGE);
    buf_init(&prompt, BUF_UNBOUNDED);
    if (str_starts_with_nocase(type, STR("image/")) && decode(json_get_str(item, "data"), &bytes)) {
        const struct prompt_value values[] = {
            {.name = "name", .text = STR("image")},
            {.name = "question", .text = question.len > 0 ? question : STR("(What does the image show?)")}};
        if (profile_render(tool_profile(run), PROMPT_IMAGE_TEXT, values, 2, &prompt) != STATUS_OK)
            abort(); /* the buffer has no cap */
        const struct tool_image image = {buf_str(&bytes), type};
        struct look *look = mem_zalloc(sizeof *look);
        *look = (struct look){.images = images, .index = index};
        images->looks[index] = look;
        images->waiting++;
        tool_see(run, buf_str(&prompt), &image, seen, look);
    }
    buf_finish(&prompt);
    buf_finish(&bytes);
}

struct mcp_images *mcp_images_start(const json_t *result, struct tool_run *run, void (*done)(void *user), void *user)
{
    size_t i, count = 0;
    json_t *item;
    if (!tool_can_see(run))
        return NULL;
    struct mcp_images *images = mem_zalloc(sizeof *images);
    images->done = done;
    images->user = user;
    json_array_foreach (json_object_get(result, "content"), i, item) {
        const char *type = json_get_string(item, "type");
        if (type != NULL && strcmp(type, "image") == 0 && count < MCP_MAX_CAPTIONS)
            look_at(images, count++, item, run);
    }
    if (images->waiting > 0)
        return images;
    mcp_images_destroy(images);
    return NULL;
}

const char *mcp_images_caption(const struct mcp_images *images, size_t index)
{
    return images != NULL && index < MCP_MAX_CAPTIONS ? images->captions[index] : NULL;
}

void mcp_images_destroy(struct mcp_images *images)
{
    if (images == NULL)
        return;
    for (size_t i = 0; i < MCP_MAX_CAPTIONS; i++) {
        free(images->captions[i]);
        if (images->looks[i] != NULL)
            images->looks[i]->images = NULL;
    }
    free(images);
}
