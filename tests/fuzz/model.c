/* A config.json may hold anything; what is reckoned from it stays finite and above nothing. */
#include "jobs/model.h"

#include <math.h>

#include "fuzz.h"

static void check(const struct served_step *step)
{
    MUST(isfinite(step->seconds) && step->seconds >= 0);
    MUST(!(step->weight_bytes < 0) && !(step->context_bytes < 0));
    MUST(!(step->weight_flops < 0) && !(step->context_flops < 0));
    MUST(served_limit_name(step->limit));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct served_rates rates = {700e12, 700e12, 4.4e12, 750e12, 4.8e12};
    struct served_model model;
    char why[160] = "";
    char *text = fuzz_text(data, size);
    if (model_parse(text, size, &model, why, sizeof(why)) == 0) {
        MUST(served_parameters(&model) > 0 && isfinite(served_parameters(&model)));
        MUST(served_active_parameters(&model) > 0);
        MUST(model.bytes_dense > 0 && model.bytes_kv > 0);
        struct served_step step = served_decode(&model, 32, 4096, 1, &rates);
        check(&step);
        step = served_prefill(&model, 1, 8192, 2, &rates);
        check(&step);
        MUST(served_ridge_batch(&model, &rates) >= 0);
    } else
        MUST(why[0]);
    free(text);
    return 0;
}
