#include "jobs/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmocka_test.h"

/* An H200 that is easy to reckon with: 700 TFLOP/s of a peak of 750, 4.4 TB/s of 4.8. */
static const struct served_rates rates = {.flops = 700e12,
                                          .attention = 700e12,
                                          .bytes = 4.4e12,
                                          .peak_flops = 750e12,
                                          .peak_bytes = 4.8e12};

static struct served_model model_of(const char *name)
{
    char path[512], text[8192], why[160] = "";
    struct served_model model = {0};
    snprintf(path, sizeof(path), "%s/%s.json", getenv("MODELS"), name);
    ssize_t length = file_read(path, text, sizeof(text));
    assert_true(length > 0);
    if (model_parse(text, (size_t)length, &model, why, sizeof(why)) != 0)
        fail_msg("%s: %s", name, why);
    return model;
}

static int parse(const char *text, struct served_model *model)
{
    char why[160];
    return model_parse(text, strlen(text), model, why, sizeof(why));
}

/* Within a part of a thousand: norms and biases are left out. */
static void assert_about(double actual, double expected)
{
    assert_near(actual / expected, 1, 1e-3);
}

static void reckons_llama_8b_by_hand(void **state)
{
    (void)state;
    struct served_model model = model_of("llama-3.1-8b");
    /* A layer: 4096 × (4096 + 1024 + 1024 + 4096) + 3 × 4096 × 14336 = 218,103,808. */
    assert_about(served_parameters(&model), 8.030e9);
    assert_near(served_active_parameters(&model), 32 * 218103808.0 + 128256.0 * 4096, 1);
    assert_near(served_kv_bytes(&model), 2 * 8 * 128 * 32 * 2, 0);

    /* What workloads/phases.py counts for these steps: 3.145 TFLOP/s and 3063.72 GB/s at 202.31
     * steps per second; 243.969 and 3026.39 at 61.3. */
    struct served_step step = served_decode(&model, 1, 1024, 1, &rates);
    assert_about(step.weight_flops + step.context_flops, 3.145e12 / 202.31);
    assert_about(step.weight_bytes + step.context_bytes, 3063.72e9 / 202.31);
    assert_near(step.seconds, (15.0097e9 + 0.1342e9) / 4.4e12, 1e-6);
    assert_int_equal(step.limit, SERVED_WEIGHTS);
    assert_near(step.memory_sol, 4.4 / 4.8, 1e-9);

    step = served_decode(&model, 256, 1024, 1, &rates);
    assert_about(step.weight_flops + step.context_flops, 243.969e12 / 61.3);
    assert_near((step.weight_bytes + step.context_bytes) / (3026.39e9 / 61.3), 1, 2e-3);
    /* Arithmetic 3.843 TFLOP in 5.490 ms, then 34.36 GB of KV cache in 7.809 ms. */
    assert_near(step.seconds, 13.299e-3, 2e-6);
    assert_near(step.tokens_per_second, 256 / 13.299e-3, 5);
    assert_int_equal(step.limit, SERVED_CONTEXT);
    assert_near(step.compute_sol, (3.8425 + 0.1374) / 13.299e-3 / 750, 1e-3);

    step = served_decode(&model, 256, 64, 1, &rates);
    assert_int_equal(step.limit, SERVED_BATCH);
    /* 15.01 GB in 3.411 ms ÷ 21.44 µs of arithmetic a token. */
    assert_near(served_ridge_batch(&model, &rates), 700e12 / 4.4e12, 0.01);
}

static void reckons_a_prefill_by_hand(void **state)
{
    (void)state;
    struct served_model model = model_of("llama-3.1-8b");
    struct served_step step = served_prefill(&model, 1, 8192, 1, &rates);
    /* phases.py: 562.382 TFLOP/s at 4.26 steps per second; 132.0 TFLOP. */
    assert_near((step.weight_flops + step.context_flops) / (562.382e12 / 4.26), 1, 2e-3);
    assert_int_equal(step.limit, SERVED_BATCH);
    assert_near(step.compute_sol, 700.0 / 750, 1e-9);
    assert_about(step.tokens_per_second, 8192 / (132.0e12 / 700e12));
    /* A prompt so long that attention takes more than the products. */
    step = served_prefill(&model, 1, 131072, 1, &rates);
    assert_int_equal(step.limit, SERVED_CONTEXT);
}

static void shares_llama_70b_among_gpus(void **state)
{
    (void)state;
    struct served_model model = model_of("llama-3.1-70b");
    assert_about(served_parameters(&model), 70.55e9);
    assert_near(served_kv_bytes(&model), 2 * 8 * 128 * 80 * 2, 0); /* 8 of 64 heads */
    struct served_step step = served_decode(&model, 8, 4096, 4, &rates);
    assert_about(step.weight_bytes, (70.55e9 - 1.0507e9) * 2 / 4);
    assert_about(step.context_bytes, 8 * 4096 * 327680.0 / 4);
    struct served_step alone = served_decode(&model, 8, 4096, 1, &rates);
    assert_about(step.tokens_per_second, 4 * alone.tokens_per_second);
    assert_near(step.memory_sol, alone.memory_sol, 1e-9);
}

static void counts_the_experts_that_a_batch_reads(void **state)
{
    (void)state;
    struct served_model model = model_of("gpt-oss-20b");
    assert_near(served_parameters(&model) / 1e9, 20.9, 0.05);
    assert_near(served_active_parameters(&model) / 1e9, 3.6, 0.05);
    assert_int_equal(model.full_layers, 12);

    /* Attention 0.637 and output matrix 0.579 billion in 16 bits, and 4 of 32 experts of 24.9
     * million in each of 24 layers in 4.25 bits. */
    struct served_step one = served_decode(&model, 1, 128, 1, &rates);
    double plain = (24 * 26542080.0 + 201088.0 * 2880) * 2;
    double expert = 3 * 2880.0 * 2880 * 4.25 / 8;
    assert_near(one.weight_bytes, plain + 24 * 4 * expert, 1);
    /* Of a batch of 8 an expert is left out with (28/32)^8 = 0.3436. */
    struct served_step eight = served_decode(&model, 8, 128, 1, &rates);
    assert_about(eight.weight_bytes, plain + 24 * 32 * (1 - 0.3436) * expert);
    struct served_step many = served_decode(&model, 1000, 128, 1, &rates);
    assert_about(many.weight_bytes, plain + 24 * 32 * expert);

    /* Every other layer sees the last 128 tokens only. */
    struct served_step longer = served_decode(&model, 1, 4096, 1, &rates);
    assert_near(longer.context_bytes, 2 * 8 * 64 * 2.0 * (12 * 4096 + 12 * 128), 1);
}

static void reads_quantised_weights(void **state)
{
    (void)state;
    struct served_model model = model_of("llama-3.1-8b-awq-int4");
    /* 4 bits, and 16 of scale and 4 of zero point for each 128. */
    assert_near(model.bytes_dense, (4 + 20.0 / 128) / 8, 1e-12);
    assert_near(model.bytes_head, 2, 0);
    assert_int_equal(model.type, LABEL_TYPE_BF16); /* products are in 16 bits */
    struct served_step step = served_decode(&model, 1, 1024, 1, &rates);
    assert_about(step.weight_bytes, 32 * 218103808.0 * 0.51953 + 128256.0 * 4096 * 2);
    double ridge = served_ridge_batch(&model, &rates);
    assert_near(ridge, step.weight_bytes / 4.4e12 / (2 * 7.5048e9 / 700e12), 0.05);

    static const struct {
        const char *method;
        double bytes;
        enum label type;
    } cases[] = {
        {"{\"quant_method\":\"fp8\"}", 1, LABEL_TYPE_FP8},
        {"{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}", 4.5 / 8, LABEL_TYPE_BF16},
        {"{\"quant_method\":\"bitsandbytes\",\"load_in_8bit\":true}", 1, LABEL_TYPE_BF16},
        {"{\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":-1}", 1, LABEL_TYPE_BF16},
        {"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"weights\":"
         "{\"num_bits\":8},\"input_activations\":{\"num_bits\":8,\"type\":\"float\"}}}}",
         1, LABEL_TYPE_FP8},
        {"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"weights\":"
         "{\"num_bits\":4,\"group_size\":64}}}}",
         (4 + 0.25) / 8, LABEL_TYPE_BF16},
        {"{\"quant_method\":\"modelopt\",\"config_groups\":{\"group_0\":{\"weights\":"
         "{\"num_bits\":4,\"type\":\"float\",\"group_size\":16}}}}",
         (4 + 0.5) / 8, LABEL_TYPE_BF16},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "{\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
                 "\"quantization_config\":%s}",
                 cases[i].method);
        assert_int_equal(parse(text, &model), 0);
        assert_near(model.bytes_dense, cases[i].bytes, 1e-12);
        assert_int_equal(model.type, cases[i].type);
    }
}

/* vLLM with --quantization fp8, say. What is quantised on the disk stays so. */
static void knows_weights_that_a_server_makes_smaller(void **state)
{
    (void)state;
    struct served_model model = model_of("llama-3.1-8b");
    model_quantise(&model, 0, false);
    assert_true(model.bytes_dense == 2 && model.type == LABEL_TYPE_BF16);
    model_quantise(&model, 8, true);
    assert_true(model.bytes_dense == 1 && model.bytes_attention == 1 && model.bytes_head == 2);
    assert_int_equal(model.type, LABEL_TYPE_FP8);
    struct served_step step = served_decode(&model, 1, 1024, 1, &rates);
    assert_about(step.weight_bytes, 32 * 218103808.0 + 128256.0 * 4096 * 2);
    model = model_of("gpt-oss-20b");
    double expert = model.bytes_expert;
    model_quantise(&model, 8, true);
    assert_true(model.bytes_expert == expert && model.bytes_dense == 2);
    assert_int_equal(model.type, LABEL_TYPE_BF16);
}

static void reads_other_shapes(void **state)
{
    (void)state;
    struct served_model model;
    /* Mixtral 8x7B: 46.7 billion, 12.9 a token. */
    assert_int_equal(parse("{\"hidden_size\":4096,\"num_hidden_layers\":32,"
                           "\"num_attention_heads\":32,\"num_key_value_heads\":8,"
                           "\"intermediate_size\":14336,\"num_local_experts\":8,"
                           "\"num_experts_per_tok\":2,\"vocab_size\":32000,"
                           "\"tie_word_embeddings\":false,\"sliding_window\":null}",
                           &model),
                     0);
    assert_near(served_parameters(&model) / 1e9, 46.7, 0.05);
    assert_near((served_active_parameters(&model) + 32000 * 4096.0) / 1e9, 12.9, 0.05);
    assert_int_equal(model.full_layers, 32);
    /* Qwen3-30B-A3B: 30.5 billion, 3.3 a token. */
    assert_int_equal(parse("{\"hidden_size\":2048,\"num_hidden_layers\":48,\"head_dim\":128,"
                           "\"num_attention_heads\":32,\"num_key_value_heads\":4,"
                           "\"intermediate_size\":6144,\"moe_intermediate_size\":768,"
                           "\"num_experts\":128,\"num_experts_per_tok\":8,\"vocab_size\":151936,"
                           "\"tie_word_embeddings\":false,\"decoder_sparse_step\":1,"
                           "\"sliding_window\":4096,\"use_sliding_window\":false}",
                           &model),
                     0);
    assert_near(served_parameters(&model) / 1e9, 30.5, 0.05);
    assert_near((served_active_parameters(&model) + 151936 * 2048.0) / 1e9, 3.35, 0.05);
    assert_int_equal(model.full_layers, 48);
    /* Gemma 2: every other layer sees 4096 tokens only, which its config.json does not tell; 32
     * bits on disk, 16 on the GPU. */
    assert_int_equal(parse("{\"model_type\":\"gemma2\",\"hidden_size\":2304,"
                           "\"num_hidden_layers\":26,\"num_attention_heads\":8,"
                           "\"num_key_value_heads\":4,\"head_dim\":256,"
                           "\"intermediate_size\":9216,\"vocab_size\":256000,"
                           "\"sliding_window\":4096,\"torch_dtype\":\"float32\"}",
                           &model),
                     0);
    assert_near(model.full_layers, 13, 0);
    assert_near(served_kv_bytes(&model), 2 * 4 * 256 * 26 * 2, 0);
    assert_near(model.bytes_dense, 2, 0);
    assert_int_equal(model.type, LABEL_TYPE_BF16);
    /* Falcon 7B: one key-value head for all of 71 heads, whatever else it says; 40B: 8. */
    assert_int_equal(
        parse("{\"model_type\":\"falcon\",\"hidden_size\":4544,\"num_hidden_layers\":32,"
              "\"num_attention_heads\":71,\"num_kv_heads\":71,\"multi_query\":true,"
              "\"new_decoder_architecture\":false,\"vocab_size\":65024}",
              &model),
        0);
    assert_near(model.kv_heads, 1, 0);
    assert_near(served_parameters(&model) / 1e9, 6.92, 0.01);
    assert_int_equal(parse("{\"hidden_size\":8192,\"num_hidden_layers\":60,"
                           "\"num_attention_heads\":128,\"num_kv_heads\":8,\"multi_query\":true,"
                           "\"new_decoder_architecture\":true}",
                           &model),
                     0);
    assert_near(model.kv_heads, 8, 0);
    /* The part that writes of a model that sees; the table of tokens is the output matrix too. */
    assert_int_equal(parse("{\"text_config\":{\"hidden_size\":64,\"num_hidden_layers\":2,"
                           "\"num_attention_heads\":4,\"intermediate_size\":128,"
                           "\"vocab_size\":100}}",
                           &model),
                     0);
    assert_near(served_parameters(&model), 2 * (4 * 64 * 64 + 3 * 64 * 128) + 6400, 0);
}

/* Llama 4: an expert beside those that are chosen, dense layers of another size between those with
 * experts, and attention that sees no further than its chunk in three layers of four. */
static void reads_llama_4(void **state)
{
    (void)state;
    static const struct {
        double experts, step, billions, active;
    } cases[] = {{16, 1, 107.8, 17.2}, {128, 2, 400.7, 17.2}}; /* Scout, Maverick: "17B" both */
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct served_model model;
        char text[640];
        snprintf(text, sizeof(text),
                 "{\"text_config\":{\"model_type\":\"llama4_text\",\"hidden_size\":5120,"
                 "\"intermediate_size\":8192,\"intermediate_size_mlp\":16384,"
                 "\"interleave_moe_layer_step\":%.0f,\"num_hidden_layers\":48,"
                 "\"num_attention_heads\":40,\"num_key_value_heads\":8,\"head_dim\":128,"
                 "\"num_local_experts\":%.0f,\"num_experts_per_tok\":1,\"vocab_size\":202048,"
                 "\"attention_chunk_size\":8192,\"tie_word_embeddings\":false}}",
                 cases[i].step, cases[i].experts);
        assert_int_equal(parse(text, &model), 0);
        assert_near(served_parameters(&model) / 1e9, cases[i].billions, 0.05);
        assert_near((served_active_parameters(&model) + 202048 * 5120.0) / 1e9, cases[i].active,
                    0.05);
        assert_near(model.full_layers, 12, 0);
        assert_near(model.window, 8192, 0);
    }
}

static void knows_what_families_leave_out(void **state)
{
    (void)state;
    struct served_model model;
    /* ERNIE 4.5, 21 billion, 3 of them a token, in words of its own. */
    assert_int_equal(parse("{\"model_type\":\"ernie4_5_moe\",\"hidden_size\":2560,"
                           "\"intermediate_size\":12288,\"moe_intermediate_size\":1536,"
                           "\"moe_num_experts\":64,\"moe_k\":6,\"moe_num_shared_experts\":2,"
                           "\"moe_layer_start_index\":1,\"num_hidden_layers\":28,"
                           "\"num_attention_heads\":20,\"num_key_value_heads\":4,"
                           "\"head_dim\":128,\"vocab_size\":103424}",
                           &model),
                     0);
    assert_near(served_parameters(&model) / 1e9, 21.8, 0.05);
    assert_near(served_active_parameters(&model) / 1e9, 3.35, 0.01);
    /* Gemma 3 4B: its heads and its vocabulary are its program's defaults. */
    assert_int_equal(parse("{\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
                           "\"intermediate_size\":10240,\"num_hidden_layers\":34,"
                           "\"sliding_window\":1024}}",
                           &model),
                     0);
    assert_near(served_parameters(&model) / 1e9, 3.88, 0.01);
    assert_near(served_kv_bytes(&model), 2 * 4 * 256 * 34 * 2, 0);
    assert_near(model.full_layers, 5, 0);
    /* Nemotron's feed-forward has no gate. */
    assert_int_equal(parse("{\"model_type\":\"nemotron\",\"hidden_size\":3072,"
                           "\"intermediate_size\":9216,\"num_hidden_layers\":32,"
                           "\"num_attention_heads\":24,\"num_key_value_heads\":8,"
                           "\"head_dim\":128,\"vocab_size\":256000,"
                           "\"tie_word_embeddings\":false}",
                           &model),
                     0);
    assert_near(served_parameters(&model) / 1e9, 4.19, 0.01);
    /* Qwen2: of those that use a window, the first layers do not. */
    assert_int_equal(parse("{\"hidden_size\":64,\"num_hidden_layers\":28,"
                           "\"num_attention_heads\":4,\"sliding_window\":4096,"
                           "\"use_sliding_window\":true,\"max_window_layers\":21}",
                           &model),
                     0);
    assert_near(model.full_layers, 21, 0);
}

static void refuses_what_it_does_not_know(void **state)
{
    (void)state;
    struct served_model model = {.layers = 7};
    assert_int_equal(parse("", &model), -EINVAL);
    assert_int_equal(parse("[1]", &model), -EINVAL);
    assert_int_equal(parse("{\"hidden_size\":64}", &model), -EINVAL);
    assert_int_equal(
        parse("{\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":-4}", &model),
        -EINVAL);
    assert_int_equal(parse("{\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
                           "\"num_experts\":8}",
                           &model),
                     -EINVAL);
    /* No model has so many weights, nor half a layer. */
    assert_int_equal(parse("{\"hidden_size\":1e9,\"num_hidden_layers\":1e9,"
                           "\"num_attention_heads\":1e9,\"vocab_size\":1e9}",
                           &model),
                     -EINVAL);
    assert_int_equal(parse("{\"hidden_size\":1e-300,\"num_hidden_layers\":0.5,"
                           "\"num_attention_heads\":1e-300,\"vocab_size\":1e-300}",
                           &model),
                     -EINVAL);
    static const char *const not_known[] = {
        "\"kv_lora_rank\":512",
        "\"quantization_config\":{\"quant_method\":\"new\"}",
        "\"layer_types\":[\"linear_attention\",\"full_attention\"]",
        "\"layer_types\":[\"mamba\",\"attention\"]",
        "\"linear_num_key_heads\":16",
        "\"mamba_d_state\":128",
        "\"intermediate_size\":[128,256]",
        "\"num_key_value_heads\":[1,2]",
        "\"block_configs\":[{},{}]",
        "\"moe_number_of_experts\":8",
    };
    for (size_t i = 0; i < ARRAY_SIZE(not_known); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,%s}",
                 not_known[i]);
        assert_int_equal(parse(text, &model), -ENOTSUP);
    }
    assert_int_equal(model.layers, 7); /* left alone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reckons_llama_8b_by_hand),
        cmocka_unit_test(reckons_a_prefill_by_hand),
        cmocka_unit_test(shares_llama_70b_among_gpus),
        cmocka_unit_test(counts_the_experts_that_a_batch_reads),
        cmocka_unit_test(reads_quantised_weights),
        cmocka_unit_test(knows_weights_that_a_server_makes_smaller),
        cmocka_unit_test(reads_other_shapes),
        cmocka_unit_test(reads_llama_4),
        cmocka_unit_test(knows_what_families_leave_out),
        cmocka_unit_test(refuses_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
