/* Any bytes as a file of spans. */
#include <errno.h>

#include "read_recording.h"
#include "record/spans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = recording_path();
    char input[80], why[512];
    snprintf(input, sizeof(input), "%s.jsonl", path);
    FILE *file = fopen(input, "wb");
    MUST(file);
    MUST(fwrite(data, 1, size, file) == size);
    MUST(fclose(file) == 0);

    struct record_writer *writer;
    struct record_spans *spans;
    const struct record_writer_options options = {.replace = true};
    MUST(record_writer_open(&writer, path, &options, why, sizeof(why)) == 0);
    MUST(record_spans_open(&spans, input) == 0);
    int r = record_spans_write(spans, writer, true, why, sizeof(why));
    MUST(r >= 0 || r == -EBADMSG);
    record_spans_close(spans);
    MUST(record_writer_close(writer) == 0);
    read_recording(path);
    unlink(input);
    unlink(path);
    return 0;
}
