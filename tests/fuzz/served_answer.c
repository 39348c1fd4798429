/* What a server answers, the first byte choosing the engine and the question. */
#include "base/utf8.h"
#include "fuzz.h"
#include "jobs/server.h"
#include "jobs/server_http.h"

static void must_be_text(const char *text)
{
    MUST(memchr(text, '\0', SERVER_NAME_SIZE));
    for (size_t length; *text; text += length) {
        length = utf8_sequence_length(text);
        MUST(length > 0);
    }
}

static void must_be_number(double value)
{
    MUST(!(value < 0) && !(value > 1e25));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = fuzz_text(data + 1, size - 1);
    struct server_state state;
    server_state_reset(&state);
    server_take((enum server_engine)(data[0] % SERVER_ENGINE_COUNT),
                (enum server_answer)(data[0] / SERVER_ENGINE_COUNT % (ANSWER_REQUESTS + 1)), text,
                size - 1, &state);
    must_be_text(state.model);
    must_be_text(state.folder);
    must_be_number(state.running);
    must_be_number(state.generated_tokens);
    must_be_number(state.parameters);
    must_be_number(state.bits);

    struct strbuf body = {0};
    int status = server_split_answer(text, size - 1, &body);
    MUST(status < 0 || (status >= 100 && status <= 999));
    MUST(body.length <= size);
    strbuf_free(&body);
    free(text);
    return 0;
}
