/* A GGUF file may hold anything; what is reckoned from it stays finite and above nothing. */
#include "jobs/gguf.h"

#include <math.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct served_model model;
    char why[160] = "";
    char *head = fuzz_text(data, size);
    if (gguf_parse(head, size, 1e9, &model, why, sizeof(why)) == 0) {
        MUST(served_parameters(&model) > 0 && isfinite(served_parameters(&model)));
        MUST(served_active_parameters(&model) > 0);
        MUST(model.bytes_dense > 0 && model.bytes_dense <= 4 && model.bytes_kv > 0);
    } else
        MUST(why[0]);
    free(head);
    return 0;
}
