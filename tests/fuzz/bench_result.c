/* Any bytes as a result of `rooftop bench`: read, and shown in every form. */
#include <unistd.h>

#include "bench/report.h"
#include "fuzz.h"

static void show(const struct result *result)
{
    static const char *const forms[] = {"text", "json", "csv", "html"};
    struct bench_summary summary;
    MUST(bench_summarize(&result->plan, &result->trials, &summary) == 0);
    const struct bench_report report = {
        .result = result,
        .summary = &summary,
        .decision = bench_decide(&summary),
    };
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        struct strbuf out = {0};
        bench_report_form(forms[i])->write(&report, &out);
        MUST(out.length > 0);
        strbuf_free(&out);
    }
    bench_summary_free(&summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], why[512];
    snprintf(path, sizeof(path), "/tmp/fuzz-bench-%d.db", (int)getpid());
    FILE *file = fopen(path, "wb");
    MUST(file);
    MUST(fwrite(data, 1, size, file) == size);
    MUST(fclose(file) == 0);
    struct result result;
    if (result_load(&result, path, why, sizeof(why)) == 0) {
        show(&result);
        result_free(&result);
    }
    unlink(path);
    return 0;
}
