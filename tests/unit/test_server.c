#include "jobs/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"
#include "jobs/server_http.h"
#include "made_root.h"

/* Arguments are separated by single spaces. */
static void put_process(int pid, int parent, const char *arguments)
{
    char name[64], text[512];
    snprintf(name, sizeof(name), "proc/%d/stat", pid);
    snprintf(text, sizeof(text), "%d (x) S %d 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 9 9 9\n",
             pid, parent);
    put_text(name, text);
    snprintf(name, sizeof(name), "proc/%d/cmdline", pid);
    snprintf(text, sizeof(text), "%s", arguments);
    size_t length = strlen(text) + 1;
    for (size_t i = 0; i < length; i++)
        if (text[i] == ' ')
            text[i] = '\0';
    put_bytes(name, text, length);
}

static void put_socket(int pid, unsigned long inode)
{
    char name[64], target[64];
    snprintf(name, sizeof(name), "proc/%d/fd/5", pid);
    snprintf(target, sizeof(target), "socket:[%lu]", inode);
    put_link(name, target);
}

static void put_tables(void)
{
    put_text("proc/net/tcp",
             "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
             "timeout inode\n"
             "   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000    "
             "    0 8000 1 0000000000000000 100 0 0 10 0\n"
             "   1: 0100007F:1F40 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000    "
             "    0 8001 1 0000000000000000 20 4 0 10 -1\n"
             "   2: 0A00000A:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000    "
             "    0 30000 1 0000000000000000 100 0 0 10 0\n"
             "   3: 0100007F:2CAA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000    "
             "    0 11434 1 0000000000000000 100 0 0 10 0\n");
    put_text(
        "proc/net/tcp6",
        "  sl  local_address                         remote_address                        st\n"
        "   0: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A "
        "00000000:00000000 00:00000000 00000000     0        0 3000 1 0000000000000000 100 0\n");
}

static void finds_each_engine_from_the_process_that_holds_the_gpu(void **state)
{
    (void)state;
    put_tables();
    put_process(10, 1, "bash -c vllm");
    put_process(11, 10,
                "/usr/bin/python3 /usr/local/bin/vllm serve meta-llama/Llama-3.1-8B "
                "--kv-cache-dtype fp8 -q fp8");
    put_process(12, 11, "VLLM::EngineCore");
    put_process(13, 12, "VLLM::Worker_TP1");
    put_socket(11, 8000);
    put_process(20, 1,
                "python3 -m sglang.launch_server --model-path=/models/x --host 10.0.0.10 "
                "--quantization=awq --tp 4 --dp 2");
    put_process(21, 20, "sglang::scheduler_TP0");
    put_socket(20, 30000);
    put_process(30, 1,
                "text-generation-launcher --model-id tiiuae/falcon-7b --quantize bitsandbytes");
    put_process(31, 30, "/opt/python /opt/conda/bin/text-generation-server serve");
    put_process(32, 30, "text-generation-router --port 3000");
    put_socket(32, 3000);
    put_process(40, 1, "ollama serve");
    put_process(41, 40, "/usr/bin/ollama runner --model /blobs/sha256-1 --port 34567");
    put_socket(40, 11434);
    put_process(50, 1, "/opt/llama-server -m /m/qwen.gguf --port 8081");
    put_process(60, 1, "python3 train.py --name vllm");
    put_process(90, 1, "/opt/llama serve --port 9000 --models-dir /m");
    put_process(91, 90, "/opt/llama serve --port 9001 -m /m/small.gguf -ctk q8_0");
    put_process(92, 1, "/opt/llama cli -m /m/small.gguf");

    pid_t pids[] = {13, 12, 21, 31, 41, 50, 60, 91, 92, 999};
    int belongs[ARRAY_SIZE(pids)];
    struct server servers[8];
    assert_int_equal(servers_find(root, pids, ARRAY_SIZE(pids), servers, 8, belongs), 6);
    static const int expected[] = {0, 0, 1, 2, 3, 4, -1, 5, -1, -1};
    assert_memory_equal(belongs, expected, sizeof(expected));

    assert_int_equal(servers[0].engine, SERVER_VLLM);
    assert_int_equal(servers[0].pid, 11);
    assert_int_equal(servers[0].port, 8000);
    assert_true(servers[0].reachable && !servers[0].ipv6);
    assert_true(servers[0].kv_bits == 8 && servers[0].weight_bits == 8 && servers[0].fp8_products);
    assert_string_equal(servers[0].model, "meta-llama/Llama-3.1-8B");
    assert_int_equal(servers[1].engine, SERVER_SGLANG);
    assert_string_equal(servers[1].model, "/models/x");
    assert_true(servers[1].kv_bits == 0 && servers[1].weight_bits == 0); /* as on the disk */
    assert_true(servers[0].copies == 1 && servers[1].copies == 2);
    assert_false(servers[1].reachable);
    assert_non_null(strstr(servers[1].silence, "not loopback"));
    assert_int_equal(servers[2].engine, SERVER_TGI);
    assert_true(servers[2].weight_bits == 8 && !servers[2].fp8_products);
    assert_true(servers[2].reachable && servers[2].ipv6); /* by its child, the router */
    assert_int_equal(servers[3].engine, SERVER_OLLAMA);
    assert_int_equal(servers[3].port, 11434);                 /* not the runner's */
    assert_string_equal(servers[3].model, "/blobs/sha256-1"); /* but its model */
    assert_true(servers[3].reachable);
    assert_int_equal(servers[4].engine, SERVER_LLAMA_CPP);
    assert_int_equal(servers[4].port, 8081);
    assert_false(servers[4].reachable);
    assert_non_null(strstr(servers[4].silence, "does not listen on port 8081"));
    assert_int_equal(servers[5].pid, 91); /* of a router the server of the model */
    assert_int_equal(servers[5].port, 9001);
    assert_true(servers[5].kv_bits == 8.5);
}

static void asks_nobody_who_merely_has_the_port(void **state)
{
    (void)state;
    put_tables();
    put_process(70, 1, "vllm serve m");
    put_socket(70, 4711); /* port 8000 is another's */
    struct server server;
    pid_t pid = 70;
    int belongs;
    assert_int_equal(servers_find(root, &pid, 1, &server, 1, &belongs), 1);
    assert_false(server.reachable);
}

static bool take(enum server_engine engine, enum server_answer answer, const char *text,
                 struct server_state *state)
{
    return server_take(engine, answer, text, strlen(text), state);
}

/* The answers have the shape that each engine documents. */
static const char VLLM_MODELS[] =
    "{\"object\":\"list\",\"data\":[{\"id\":\"llama\",\"object\":\"model\",\"created\":1731000000,"
    "\"owned_by\":\"vllm\",\"root\":\"meta-llama/Llama-3.1-8B-Instruct\",\"parent\":null,"
    "\"max_model_len\":8192,\"permission\":[{\"id\":\"modelperm-1\",\"allow_view\":true}]}]}";
static const char VLLM_METRICS[] =
    "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
    "# TYPE vllm:num_requests_running gauge\n"
    "vllm:num_requests_running{engine=\"0\",model_name=\"llama\"} 32.0\n"
    "# TYPE vllm:num_requests_waiting gauge\n"
    "vllm:num_requests_waiting{engine=\"0\",model_name=\"llama\"} 3.0\n"
    "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"llama\"} 0.5\n"
    "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",num_cpu_blocks=\"None\","
    "num_gpu_blocks=\"16384\",num_gpu_blocks_override=\"None\",sliding_window=\"None\"} 1.0\n"
    "vllm:prompt_tokens_total{engine=\"0\",model_name=\"llama\"} 1.024e+06\n"
    "vllm:generation_tokens_total{engine=\"0\",model_name=\"llama\"} 500000.0\n"
    "vllm:request_prompt_tokens_bucket{engine=\"0\",le=\"1.0\",model_name=\"llama\"} 0.0\n"
    "vllm:request_prompt_tokens_count{engine=\"0\",model_name=\"llama\"} 1000.0\n"
    "vllm:request_prompt_tokens_sum{engine=\"0\",model_name=\"llama\"} 1.024e+06\n";

static void reads_vllm(void **unused)
{
    (void)unused;
    struct server_state state;
    server_state_reset(&state);
    assert_true(take(SERVER_VLLM, ANSWER_MODELS, VLLM_MODELS, &state));
    assert_string_equal(state.model, "llama");
    assert_string_equal(state.folder, "meta-llama/Llama-3.1-8B-Instruct");
    assert_true(take(SERVER_VLLM, ANSWER_METRICS, VLLM_METRICS, &state));
    assert_near(state.running, 32, 0);
    assert_near(state.waiting, 3, 0);
    assert_near(state.context, 0.5 * 16384 * 16 / 32, 0);
    assert_near(state.prompt, 1024, 0);
    assert_near(state.generated_tokens, 500000, 0);

    /* The blocks of its cache are not known: from the requests that have ended. */
    server_state_reset(&state);
    assert_true(take(SERVER_VLLM, ANSWER_METRICS,
                     "vllm:num_requests_running{model_name=\"m\"} 4.0\n"
                     "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5\n"
                     "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1.0\n"
                     "vllm:request_prompt_tokens_sum{model_name=\"m\"} 2000\n"
                     "vllm:request_prompt_tokens_count{model_name=\"m\"} 2\n"
                     "vllm:request_generation_tokens_sum{model_name=\"m\"} 400\n"
                     "vllm:request_generation_tokens_count{model_name=\"m\"} 2\n",
                     &state));
    assert_near(state.context, 1100, 0);
}

static void reads_the_other_engines(void **unused)
{
    (void)unused;
    struct server_state state;
    server_state_reset(&state);
    assert_true(take(SERVER_SGLANG, ANSWER_INFO,
                     "{\"model_path\":\"/models/llama\",\"tokenizer_path\":\"/models/llama\","
                     "\"is_generation\":true}",
                     &state));
    assert_string_equal(state.folder, "/models/llama");
    assert_true(take(SERVER_SGLANG, ANSWER_METRICS,
                     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} 162.0\n"
                     "sglang:num_running_reqs{model_name=\"m\",tp_rank=\"1\"} 162.0\n"
                     "sglang:num_used_tokens{model_name=\"m\",tp_rank=\"0\"} 123444.0\n"
                     "sglang:num_used_tokens{model_name=\"m\",tp_rank=\"1\"} 123444.0\n"
                     "sglang:num_queue_reqs{model_name=\"m\",tp_rank=\"0\"} 2826.0\n"
                     "sglang:gen_throughput{model_name=\"m\",tp_rank=\"0\"} 86.5\n"
                     "sglang:generation_tokens_total{model_name=\"m\"} 7.5e+06\n",
                     &state));
    assert_near(state.tokens_per_second, 86.5, 0);
    assert_true(isnan(state.generated_tokens)); /* counted when a request ends */
    assert_near(state.running, 162, 0);
    assert_near(state.context, 762, 0);
    assert_near(state.waiting, 2826, 0);

    server_state_reset(&state);
    assert_true(take(SERVER_TGI, ANSWER_INFO,
                     "{\"model_id\":\"tiiuae/falcon-7b\",\"model_sha\":\"a\",\"model_dtype\":"
                     "\"torch.float16\",\"max_total_tokens\":2048}",
                     &state));
    assert_true(
        take(SERVER_TGI, ANSWER_METRICS,
             "tgi_batch_current_size 8\ntgi_batch_current_max_tokens 2048\ntgi_queue_size 1\n"
             "tgi_request_input_length_sum 1280\ntgi_request_input_length_count 10\n",
             &state));
    assert_string_equal(state.model, "tiiuae/falcon-7b");
    assert_near(state.context, 256, 0);
    assert_near(state.prompt, 128, 0);

    server_state_reset(&state);
    assert_true(take(SERVER_LLAMA_CPP, ANSWER_MODELS,
                     "{\"object\":\"list\",\"data\":[{\"id\":\"/m/qwen.gguf\",\"object\":\"model\","
                     "\"owned_by\":\"llamacpp\",\"meta\":{\"vocab_type\":2,\"n_vocab\":128256,"
                     "\"n_ctx_train\":131072,\"n_embd\":4096,\"n_params\":8030261312,"
                     "\"size\":4912898304}}]}",
                     &state));
    assert_near(state.parameters, 8030261312.0, 0);
    assert_near(state.weight_bytes, 4912898304.0, 0);
    assert_true(take(SERVER_LLAMA_CPP, ANSWER_METRICS,
                     "llamacpp:requests_processing 2\nllamacpp:requests_deferred 0\n"
                     "llamacpp:tokens_predicted_total 34\n",
                     &state));
    assert_near(state.running, 2, 0);
    assert_true(isnan(state.context));

    server_state_reset(&state);
    assert_true(take(SERVER_OLLAMA, ANSWER_INFO,
                     "{\"models\":[{\"name\":\"llama3.2:latest\",\"model\":\"llama3.2:latest\","
                     "\"size\":4089352192,\"digest\":\"a\",\"details\":{\"parent_model\":\"\","
                     "\"format\":\"gguf\",\"family\":\"llama\",\"parameter_size\":\"3.2B\","
                     "\"quantization_level\":\"MXFP4\"},\"expires_at\":\"2026-06-04T14:38:31Z\","
                     "\"size_vram\":4089352192}]}",
                     &state));
    assert_string_equal(state.model, "llama3.2:latest");
    assert_near(state.parameters, 3.2e9, 1);
    assert_near(state.bits, 4, 0);
}

/* Recorded from llama-server v0.4.0 (the sources that node-llama-cpp 3.21.1 carries) while it wrote
 * for two requests, params left out. */
static const char LLAMA_PROPS[] =
    "{\"default_generation_settings\":{\"params\":{},\"n_ctx\":512},\"total_slots\":3,"
    "\"model_alias\":\"tiny.gguf\",\"model_ftype\":\"all F32\",\"model_path\":"
    "\"/tmp/tiny.gguf\",\"endpoint_slots\":true,\"endpoint_props\":false,"
    "\"endpoint_metrics\":true,\"is_sleeping\":false}";
static const char LLAMA_SLOTS[] =
    "[{\"id\":0,\"n_ctx\":512,\"speculative\":false,\"is_processing\":true,\"id_task\":14,"
    "\"n_prompt_tokens\":359,\"n_prompt_tokens_processed\":43,\"n_prompt_tokens_cache\":0,"
    "\"params\":{\"seed\":4294967295},\"next_token\":[{\"has_next_token\":true,"
    "\"has_new_line\":false,\"n_remain\":84,\"n_decoded\":316}]},"
    "{\"id\":1,\"n_ctx\":512,\"speculative\":false,\"is_processing\":true,\"id_task\":12,"
    "\"n_prompt_tokens\":361,\"n_prompt_tokens_processed\":34,\"n_prompt_tokens_cache\":9,"
    "\"next_token\":[{\"n_decoded\":318}]},"
    "{\"id\":2,\"n_ctx\":512,\"speculative\":false,\"is_processing\":false,\"id_task\":3,"
    "\"n_prompt_tokens\":442,\"next_token\":[{\"n_decoded\":400}]}]";
static const char LLAMA_METRICS[] =
    "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed, excluding cached "
    "tokens\n"
    "# TYPE llamacpp:prompt_tokens_total counter\n"
    "llamacpp:prompt_tokens_total 86\n"
    "llamacpp:prompt_tokens_cached_total 9\n"
    "llamacpp:tokens_predicted_total 808\n"
    "llamacpp:requests_processing 2\n"
    "llamacpp:requests_deferred 1\n"
    "llamacpp:n_busy_slots_per_decode 1.97555\n";

static void reads_a_real_llama_cpp(void **unused)
{
    (void)unused;
    struct server_state state;
    server_state_reset(&state);
    assert_true(take(SERVER_LLAMA_CPP, ANSWER_INFO, LLAMA_PROPS, &state));
    assert_string_equal(state.model, "/tmp/tiny.gguf");
    assert_true(isnan(state.running));
    assert_true(take(SERVER_LLAMA_CPP, ANSWER_METRICS, LLAMA_METRICS, &state));
    assert_near(state.generated_tokens, 808, 0);
    assert_near(state.waiting, 1, 0);
    assert_true(isnan(state.context));
    assert_true(take(SERVER_LLAMA_CPP, ANSWER_REQUESTS, LLAMA_SLOTS, &state));
    assert_near(state.generated_tokens, 808 + 316 + 318, 0);
    assert_near(state.running, 2, 0);
    assert_near(state.context, 360, 0);

    server_state_reset(&state);
    assert_true(take(SERVER_LLAMA_CPP, ANSWER_INFO,
                     "{\"model_path\":\"/m/a.gguf\",\"is_sleeping\":true}", &state));
    assert_near(state.running, 0, 0);
}

/* Without --enable-metrics: the newer form, and the older one. */
static void reads_the_loads_of_sglang(void **unused)
{
    (void)unused;
    struct server_state state;
    server_state_reset(&state);
    assert_true(take(SERVER_SGLANG, ANSWER_REQUESTS,
                     "{\"timestamp\":\"t\",\"dp_rank_count\":2,\"loads\":[{\"dp_rank\":0,"
                     "\"num_running_reqs\":3,\"num_waiting_reqs\":1,\"gen_throughput\":90.5,"
                     "\"num_used_tokens\":1500,\"max_total_num_tokens\":100000},{\"dp_rank\":1,"
                     "\"num_running_reqs\":2,\"num_waiting_reqs\":0,\"num_used_tokens\":500,"
                     "\"gen_throughput\":9.5}]}",
                     &state));
    assert_near(state.tokens_per_second, 100, 0);
    assert_near(state.running, 5, 0);
    assert_near(state.waiting, 1, 0);
    assert_near(state.context, 400, 0);
    assert_true(take(SERVER_SGLANG, ANSWER_REQUESTS,
                     "[{\"dp_rank\":0,\"num_reqs\":4,\"num_waiting_reqs\":0,\"num_tokens\":800}]",
                     &state));
    assert_near(state.running, 4, 0);
    assert_near(state.context, 200, 0);
    assert_true(take(SERVER_SGLANG, ANSWER_REQUESTS,
                     "[{\"dp_rank\":0,\"num_reqs\":4,\"num_waiting_reqs\":1,\"num_tokens\":800}]",
                     &state));
    assert_near(state.running, 3, 0);
    assert_true(isnan(state.context)); /* those of the one that waits are among them */
}

static void takes_nothing_from_nonsense(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"",
                                        "null",
                                        "[]",
                                        "[{}]",
                                        "{\"loads\":[{\"num_reqs\":1,\"num_waiting_reqs\":2}]}",
                                        "{\"data\":[]}",
                                        "{\"models\":7}",
                                        "vllm:",
                                        "vllm:num_requests_running",
                                        "<html>",
                                        "vllm:num_requests_running{a=\"}\"} x\n",
                                        "vllm:num_requests_running nan\n",
                                        "vllm:num_requests_running -3\n"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (int engine = 0; engine < SERVER_ENGINE_COUNT; engine++)
            for (int answer = ANSWER_MODELS; answer <= ANSWER_REQUESTS; answer++) {
                struct server_state state;
                server_state_reset(&state);
                assert_false(
                    take((enum server_engine)engine, (enum server_answer)answer, texts[i], &state));
            }
}

static void splits_answers(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int status;
        const char *body;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi"},
        {"HTTP/1.0 404 Not Found\r\n\r\n", 404, ""},
        {"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\n "
         "yo\r\n0\r\n\r\n",
         200, "hi yo"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhi", -EPROTO,
         ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi", -EPROTO, "hi"},
        {"HTTP/1.1 200 OK\r\n", -EPROTO, ""},
        {"SSH-2.0-OpenSSH_9.2\r\n\r\n", -EPROTO, ""},
        {"", -EPROTO, ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf body = {0};
        assert_int_equal(server_split_answer(cases[i].text, strlen(cases[i].text), &body),
                         cases[i].status);
        assert_string_equal(strbuf_text(&body), cases[i].body);
        strbuf_free(&body);
    }
}

/* A server on loopback that answers one connection after the other; NULL: it says nothing and
 * waits until the other side has gone. */
struct canned {
    int fd;
    unsigned port;
    size_t count;
    const char *answers[4];
    char asked[4][256];
};

static void *serve(void *argument)
{
    struct canned *canned = argument;
    for (size_t i = 0; i < canned->count; i++) {
        int fd = accept(canned->fd, NULL, NULL);
        char request[1024] = "";
        size_t length = 0;
        while (!strstr(request, "\r\n\r\n")) {
            ssize_t got = read(fd, request + length, sizeof(request) - 1 - length);
            if (got <= 0)
                break;
            length += (size_t)got;
        }
        snprintf(canned->asked[i], sizeof(canned->asked[i]), "%.*s", (int)strcspn(request, "\r"),
                 request);
        const char *answer = canned->answers[i];
        if (answer && write(fd, answer, strlen(answer)) < 0)
            break;
        if (!answer && read(fd, request, 1) < 0)
            break;
        close(fd);
    }
    return NULL;
}

static void listen_on_loopback(struct canned *canned)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    canned->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(canned->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(canned->fd, 4), 0);
    assert_int_equal(getsockname(canned->fd, (struct sockaddr *)&address, &size), 0);
    canned->port = ntohs(address.sin_port);
}

static void asks_over_loopback(void **unused)
{
    (void)unused;
    char models[1024], metrics[4096], why[160] = "";
    snprintf(models, sizeof(models), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%s", VLLM_MODELS);
    snprintf(metrics, sizeof(metrics), "HTTP/1.1 200 OK\r\n\r\n%s", VLLM_METRICS);
    struct canned canned = {.count = 2, .answers = {models, metrics}};
    listen_on_loopback(&canned);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, serve, &canned), 0);
    struct server server = {.engine = SERVER_VLLM, .port = canned.port, .reachable = true};
    struct server_state state;
    assert_int_equal(server_ask(&server, 10, &state, why, sizeof(why)), 0);
    pthread_join(thread, NULL);
    close(canned.fd);
    assert_string_equal(canned.asked[0], "GET /v1/models HTTP/1.0");
    assert_string_equal(canned.asked[1], "GET /metrics HTTP/1.0");
    assert_near(state.running, 32, 0);
}

/* What is known already is not asked again, nor a model loaded that was put away. */
static void asks_no_more_than_it_needs(void **unused)
{
    (void)unused;
    char why[160] = "";
    struct canned canned = {
        .count = 3,
        .answers = {"HTTP/1.1 200 OK\r\n\r\n{\"model_path\":\"/m/a.gguf\",\"is_sleeping\":true}",
                    "HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 501 Not Implemented\r\n\r\n"}};
    listen_on_loopback(&canned);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, serve, &canned), 0);
    struct server server = {.engine = SERVER_LLAMA_CPP, .port = canned.port, .reachable = true};
    struct server_state state;
    assert_int_equal(server_ask(&server, 2, &state, why, sizeof(why)), 0);
    pthread_join(thread, NULL);
    struct pollfd more = {.fd = canned.fd, .events = POLLIN};
    assert_int_equal(poll(&more, 1, 0), 0); /* nothing else was asked */
    close(canned.fd);
    assert_string_equal(canned.asked[0], "GET /props HTTP/1.0");
    assert_string_equal(canned.asked[1], "GET /v1/models HTTP/1.0");
    assert_string_equal(canned.asked[2], "GET /metrics HTTP/1.0");
    assert_near(state.running, 0, 0);
}

static void says_why_it_got_no_answer(void **unused)
{
    (void)unused;
    char why[160] = "";
    static const char locked[] = "HTTP/1.1 401 Unauthorized\r\n\r\n{\"error\":\"Unauthorized\"}";
    struct canned canned = {.count = 2, .answers = {locked, locked}};
    listen_on_loopback(&canned);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, serve, &canned), 0);
    struct server server = {.engine = SERVER_VLLM, .port = canned.port, .reachable = true};
    struct server_state state;
    assert_int_equal(server_ask(&server, 10, &state, why, sizeof(why)), -ENODATA);
    pthread_join(thread, NULL);
    assert_string_equal(why, "it wants a key for /metrics");
    close(canned.fd);

    assert_int_equal(server_ask(&server, 10, &state, why, sizeof(why)), -ENODATA);
    assert_non_null(strstr(why, "Connection refused"));
}

/* A server that hangs takes no longer than the deadline of all its questions. */
static void does_not_wait_for_a_server_that_hangs(void **unused)
{
    (void)unused;
    char why[160] = "";
    struct canned canned = {.count = 1};
    listen_on_loopback(&canned);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, serve, &canned), 0);
    struct server server = {.engine = SERVER_VLLM, .port = canned.port, .reachable = true};
    struct server_state state;
    assert_int_equal(server_ask(&server, 0.05, &state, why, sizeof(why)), -ENODATA);
    assert_non_null(strstr(why, "timed out"));
    pthread_join(thread, NULL);
    close(canned.fd);
}

static void finds_the_shape_where_the_process_sees_it(void **unused)
{
    (void)unused;
    static const char environment[] = "PATH=/bin\0HOME=/home/ann\0TERM=x";
    put_bytes("proc/80/environ", environment, sizeof(environment));
    put_text("home/ann/.cache/huggingface/hub/models--org--name/snapshots/0a1b/config.json", "{1}");
    put_text("proc/81/root/models/x/config.json", "{in}"); /* in a container its root is another */
    static const struct {
        pid_t pid;
        const char *name, *path;
    } cases[] = {
        {80, "org/name",
         "/home/ann/.cache/huggingface/hub/models--org--name/snapshots/0a1b/config.json"},
        {80, "/models/x", "/models/x/config.json"},
        {81, "/models/x", "/proc/81/root/models/x/config.json"},
        {80, "/m/a.gguf", "/m/a.gguf"},
        {80, "b.gguf", "/proc/80/cwd/b.gguf"},
        {81, "/o/blobs/sha256-1", "/proc/81/root/o/blobs/sha256-1"},
        {80, "../../etc", NULL},
        {80, "", NULL},
        {80, "no/model", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char path[PATH_MAX] = "";
        int r = server_find_shape(root, cases[i].pid, cases[i].name, path, sizeof(path));
        assert_int_equal(r == 0, cases[i].path != NULL);
        if (r == 0)
            assert_string_equal(path + strlen(root), cases[i].path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_engine_from_the_process_that_holds_the_gpu),
        cmocka_unit_test(asks_nobody_who_merely_has_the_port),
        cmocka_unit_test(reads_vllm),
        cmocka_unit_test(reads_the_other_engines),
        cmocka_unit_test(reads_a_real_llama_cpp),
        cmocka_unit_test(reads_the_loads_of_sglang),
        cmocka_unit_test(takes_nothing_from_nonsense),
        cmocka_unit_test(splits_answers),
        cmocka_unit_test(asks_over_loopback),
        cmocka_unit_test(asks_no_more_than_it_needs),
        cmocka_unit_test(says_why_it_got_no_answer),
        cmocka_unit_test(does_not_wait_for_a_server_that_hangs),
        cmocka_unit_test(finds_the_shape_where_the_process_sees_it),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
