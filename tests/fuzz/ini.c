#include "base/ini.h"

#include "fuzz.h"

static int take(void *context, const struct ini_place *place, const char *section, const char *key,
                const char *value, struct ini_error *error)
{
    unsigned *last = context;
    MUST(place->line > *last);
    *last = place->line;
    MUST(section[0] && strlen(section) < INI_NAME_SIZE);
    MUST(key[0] && strlen(key) < INI_NAME_SIZE);
    MUST(!strchr(value, '\n'));
    return strcmp(value, "refuse") == 0 ? ini_fail(error, place, "%s is refused", key) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned last = 0;
    const struct ini_handler handler = {.value = take, .context = &last};
    struct ini_error error = {0};
    char *text = malloc(size ? size : 1); /* not NUL-terminated, as the reader may not expect it */
    MUST(text);
    memcpy(text, data, size);
    if (ini_read_text("file", text, size, &handler, &error) < 0) {
        MUST(strncmp(error.text, "file:", 5) == 0);
        MUST(error.line > 0);
    }
    free(text);
    return 0;
}
