/* Any bytes as a store of ceilings: read, then added to. */
#include <math.h>
#include <unistd.h>

#include "fuzz.h"
#include "store/ceiling.h"

static void check(void *context, enum ceiling ceiling, const struct ceiling_value *value)
{
    (void)context;
    MUST(ceiling < CEILING_COUNT);
    MUST(isfinite(value->value) && value->value > 0);
    MUST(isfinite(value->time));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], journal[80], why[512];
    snprintf(path, sizeof(path), "/tmp/fuzz-ceiling-%d.db", (int)getpid());
    snprintf(journal, sizeof(journal), "%s-journal", path);
    FILE *file = fopen(path, "wb");
    MUST(file);
    MUST(fwrite(data, 1, size, file) == size);
    MUST(fclose(file) == 0);

    struct ceiling_store *store;
    if (ceiling_store_open_to_read(&store, path, why, sizeof(why)) == 0) {
        (void)!ceiling_store_each(store, "GPU-1", check, NULL);
        ceiling_store_close(store);
    }
    struct ceilings ceilings = {0};
    ceilings.of[CEILING_FP32] =
        (struct ceiling_value){.origin = CEILING_MEASURED, .value = 1, .time = 1, .ratio = NAN};
    if (ceiling_store_open(&store, path, why, sizeof(why)) == 0) {
        (void)!ceiling_store_add(store, "GPU-1", &ceilings);
        (void)!ceiling_store_each(store, "GPU-1", check, NULL);
        ceiling_store_close(store);
    }
    unlink(path);
    unlink(journal);
    return 0;
}
