#include "jobs/gguf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"

/* A file as it is written: little-endian, one pair or tensor after the other. */
struct file {
    unsigned char bytes[4096];
    size_t length;
};

static void put(struct file *file, const void *bytes, size_t count)
{
    assert_true(file->length + count <= sizeof(file->bytes));
    memcpy(file->bytes + file->length, bytes, count);
    file->length += count;
}

static void put_integer(struct file *file, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        put(file, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

static void put_string(struct file *file, const char *text)
{
    put_integer(file, strlen(text), 8);
    put(file, text, strlen(text));
}

static void begin(struct file *file, uint64_t tensors, uint64_t pairs)
{
    file->length = 0;
    put(file, "GGUF", 4);
    put_integer(file, 3, 4);
    put_integer(file, tensors, 8);
    put_integer(file, pairs, 8);
}

static void put_text_pair(struct file *file, const char *key, const char *value)
{
    put_string(file, key);
    put_integer(file, 8, 4);
    put_string(file, value);
}

static void put_number(struct file *file, const char *key, uint64_t value)
{
    put_string(file, key);
    put_integer(file, 4, 4);
    put_integer(file, value, 4);
}

static void put_array(struct file *file, const char *key, unsigned type, uint64_t count)
{
    put_string(file, key);
    put_integer(file, 9, 4);
    put_integer(file, type, 4);
    put_integer(file, count, 8);
    for (uint64_t i = 0; i < count; i++)
        if (type == 8)
            put_string(file, "x");
        else
            put_integer(file, 7, 4);
}

static void put_tensor(struct file *file, const char *name, uint64_t rows, uint64_t columns)
{
    put_string(file, name);
    put_integer(file, 2, 4);
    put_integer(file, rows, 8);
    put_integer(file, columns, 8);
    put_integer(file, 0, 4);
    put_integer(file, 0, 8);
}

static void put_llama(struct file *file, uint64_t tensors, uint64_t more)
{
    begin(file, tensors, 7 + more);
    put_text_pair(file, "general.architecture", "llama");
    put_number(file, "llama.block_count", 32);
    put_number(file, "llama.embedding_length", 4096);
    put_number(file, "llama.feed_forward_length", 14336);
    put_number(file, "llama.attention.head_count", 32);
    put_number(file, "llama.attention.head_count_kv", 8);
    put_number(file, "llama.vocab_size", 128256);
}

static int parse(const struct file *file, double file_bytes, struct served_model *ret,
                 char why[160])
{
    why[0] = '\0';
    return gguf_parse(file->bytes, file->length, file_bytes, ret, why, 160);
}

static void reads_the_shape_of_llama(void **state)
{
    (void)state;
    struct file file;
    struct served_model model;
    char why[160];
    put_llama(&file, 2, 0);
    put_tensor(&file, "token_embd.weight", 4096, 1000000);
    put_tensor(&file, "output.weight", 4096, 1000000);
    /* A file of 4.5 bits a weight. */
    assert_int_equal(parse(&file, 2 * 4096e6 * 4.5 / 8, &model, why), 0);
    assert_near(served_parameters(&model), 8.03e9, 1e7);
    assert_near(served_kv_bytes(&model), 128 * 1024, 0);
    assert_near(model.bytes_dense, 4.5 / 8, 1e-9);
    assert_near(model.bytes_head, 4.5 / 8, 1e-9);
    assert_false(model.tied);

    put_llama(&file, 1, 0);
    put_tensor(&file, "token_embd.weight", 4096, 1000000);
    assert_int_equal(parse(&file, 4096e6 * 2, &model, why), 0);
    assert_true(model.tied); /* no output matrix of its own */
}

static void reads_experts_and_windows(void **state)
{
    (void)state;
    struct file file;
    struct served_model model;
    char why[160];
    begin(&file, 0, 11);
    put_text_pair(&file, "general.architecture", "gpt-oss");
    put_number(&file, "gpt-oss.block_count", 24);
    put_number(&file, "gpt-oss.embedding_length", 2880);
    put_number(&file, "gpt-oss.attention.head_count", 64);
    put_number(&file, "gpt-oss.attention.head_count_kv", 8);
    put_number(&file, "gpt-oss.attention.key_length", 64);
    put_number(&file, "gpt-oss.attention.sliding_window", 128);
    put_number(&file, "gpt-oss.expert_count", 32);
    put_number(&file, "gpt-oss.expert_used_count", 4);
    put_number(&file, "gpt-oss.expert_feed_forward_length", 2880);
    put_array(&file, "tokenizer.ggml.tokens", 8, 90); /* in place of vocab_size */
    assert_int_equal(parse(&file, 0, &model, why), 0);
    assert_near(model.experts, 32, 0);
    assert_near(model.experts_used, 4, 0);
    assert_near(model.head_size, 64, 0);
    assert_near(model.full_layers, 12, 0);
    assert_near(model.embedding_weights, 90 * 2880, 0);
}

static void what_is_cut_off_is_left_out(void **state)
{
    (void)state;
    struct file file;
    struct served_model model;
    char why[160];
    put_llama(&file, 1, 1);
    put_array(&file, "tokenizer.ggml.tokens", 8, 90);
    for (; file.length > 300; file.length--) {
        assert_int_equal(parse(&file, 1e9, &model, why), 0);
        assert_near(model.bytes_dense, 2, 0); /* its tensors are not there */
    }
    for (; file.length > 0; file.length--)
        if (parse(&file, 1e9, &model, why) < 0)
            assert_true(why[0] != '\0');
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    struct file file;
    struct served_model model;
    char why[160];
    put_llama(&file, 0, 1);
    put_array(&file, "llama.feed_forward_length", 4, 32);
    assert_int_equal(parse(&file, 1e9, &model, why), -ENOTSUP);
    assert_string_equal(why, "its layers differ from each other");
    put_llama(&file, 0, 1);
    put_number(&file, "llama.attention.kv_lora_rank", 512);
    assert_int_equal(parse(&file, 1e9, &model, why), -ENOTSUP);
    assert_non_null(strstr(why, "MLA"));
    put_llama(&file, 0, 1);
    put_number(&file, "llama.ssm.state_size", 128);
    assert_int_equal(parse(&file, 1e9, &model, why), -ENOTSUP);
    assert_non_null(strstr(why, "state space"));
    put_llama(&file, 0, 0);
    file.bytes[4] = 1;
    assert_int_equal(parse(&file, 1e9, &model, why), -EINVAL);
    begin(&file, 0, 1);
    put_text_pair(&file, "general.architecture", "clip");
    assert_int_equal(parse(&file, 1e9, &model, why), -EINVAL);
    assert_non_null(strstr(why, "num_hidden_layers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_shape_of_llama),
        cmocka_unit_test(reads_experts_and_windows),
        cmocka_unit_test(what_is_cut_off_is_left_out),
        cmocka_unit_test(refuses_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
