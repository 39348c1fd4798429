#include "jobs/model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

/* Larger values are no model's, and would make others that cannot be reckoned with. */
static const double LARGEST = 1e9, MOST_PARAMETERS = 1e15;

/* The first of the names that is a number of 1 or more, else `otherwise`. */
static double number(const json_t *object, const char *const *names, double otherwise)
{
    for (; *names; names++) {
        double value = json_number_value(json_object_get(object, *names));
        if (value >= 1 && value <= LARGEST)
            return value;
    }
    return otherwise;
}
#define NUMBER(object, otherwise, ...)                                                             \
    number(object, (const char *const[]){__VA_ARGS__, NULL}, otherwise)

static const char *string(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static int refuse(char *why, size_t size, int error, const char *text)
{
    snprintf(why, size, "%s", text);
    return error;
}

/* Servers turn weights of 32 bits into 16 while they load them. */
static double bytes_of_type(const char *type)
{
    return strstr(type, "float8") ? 1 : 2;
}

/* What a config.json leaves out because the program of its family knows it. */
struct family {
    const char *type; /* as transformers or llama.cpp calls it */
    double pattern;   /* one layer in so many sees the whole context, the others a window */
    bool gateless;    /* two matrices of feed-forward in place of three */
    double heads, kv_heads, head_size, vocabulary;
};

static const struct family *family_of(const json_t *config)
{
    static const struct family families[] = {
        {.type = "gemma2", .pattern = 2},
        {.type = "gemma3", .pattern = 6},
        {"gemma3_text", 6, false, 8, 4, 256, 262208},
        {.type = "gpt-oss", .pattern = 2},
        {.type = "cohere2", .pattern = 4},
        {.type = "llama4", .pattern = 4},
        {.type = "llama4_text", .pattern = 4},
        {.type = "gpt2", .gateless = true},
        {.type = "gpt_neox", .gateless = true},
        {.type = "opt", .gateless = true},
        {.type = "falcon", .gateless = true},
        {.type = "phi", .gateless = true},
        {.type = "bloom", .gateless = true},
        {.type = "starcoder2", .gateless = true},
        {.type = "gptj", .gateless = true},
        {.type = "mpt", .gateless = true},
        {.type = "nemotron", .gateless = true},
    };
    static const struct family other = {0};
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        if (strcmp(string(config, "model_type"), families[i].type) == 0)
            return &families[i];
    return &other;
}

static double either(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

/* Tokens that the layers see which do not see the whole context; of a chunk at most so many. */
static double window(const json_t *config)
{
    return NUMBER(config, 0, "sliding_window", "attention_chunk_size");
}

/* Layers that see the whole context; the others see a window. */
static double full_layers(const json_t *config, double layers)
{
    if (window(config) == 0)
        return layers;
    const json_t *types = json_object_get(config, "layer_types");
    if (json_array_size(types) == (size_t)layers) {
        double full = 0;
        for (size_t i = 0; i < json_array_size(types); i++) {
            const char *type = json_string_value(json_array_get(types, i));
            full += !type || !(strstr(type, "sliding") || strstr(type, "chunked"));
        }
        return full;
    }
    const json_t *use = json_object_get(config, "use_sliding_window");
    if (use) /* of Qwen2, whose first layers do without */
        return json_is_true(use) ? fmin(NUMBER(config, 0, "max_window_layers"), layers) : layers;
    double pattern = NUMBER(config, family_of(config)->pattern, "sliding_window_pattern");
    return pattern > 0 ? floor(layers / pattern) : 0;
}

/* State-space layers and linear attention, which keep no KV cache: "mamba", "linear_attention". */
static bool has_layers_without_cache(const json_t *config)
{
    static const char *const signs[] = {"mamba_d_state", "ssm_state_size", "linear_num_key_heads"};
    const json_t *types = json_object_get(config, "layer_types");
    size_t i;
    const json_t *type;
    json_array_foreach(types, i, type)
    {
        const char *name = json_string_value(type);
        if (name && (!strstr(name, "attention") || strstr(name, "linear")))
            return true;
    }
    for (i = 0; !types && i < ARRAY_SIZE(signs); i++)
        if (json_object_get(config, signs[i]))
            return true;
    return false;
}

/* Falcon has a name of its own for them, and a flag that makes them one. */
static double kv_heads(const json_t *config, double heads)
{
    if (json_is_true(json_object_get(config, "multi_query")) &&
        !json_is_true(json_object_get(config, "new_decoder_architecture")))
        return 1;
    return NUMBER(config, either(family_of(config)->kv_heads, heads), "num_key_value_heads",
                  "num_kv_heads");
}

/* A list in place of a number, or a list of layers. */
static bool has_unequal_layers(const json_t *config)
{
    static const char *const names[] = {"hidden_size",       "num_attention_heads",
                                        "intermediate_size", "num_key_value_heads",
                                        "head_dim",          "block_configs"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (json_is_array(json_object_get(config, names[i])))
            return true;
    return false;
}

static int read_attention(const json_t *config, struct served_model *model, char *why, size_t size)
{
    const struct family *family = family_of(config);
    double hidden = NUMBER(config, 0, "hidden_size");
    model->layers = NUMBER(config, 0, "num_hidden_layers");
    model->heads = NUMBER(config, family->heads, "num_attention_heads");
    if (has_unequal_layers(config))
        return refuse(why, size, -ENOTSUP, "its layers differ from each other");
    if (hidden == 0 || model->layers == 0 || model->heads == 0)
        return refuse(why, size, -EINVAL,
                      "it does not tell hidden_size, num_hidden_layers and num_attention_heads");
    if (json_object_get(config, "kv_lora_rank"))
        return refuse(why, size, -ENOTSUP, "its attention (MLA, kv_lora_rank) is not known");
    if (has_layers_without_cache(config))
        return refuse(
            why, size, -ENOTSUP,
            "its layers of other kinds than attention (state space, linear) are not known");
    model->kv_heads = kv_heads(config, model->heads);
    model->head_size = NUMBER(config, either(family->head_size, hidden / model->heads), "head_dim");
    model->attention_weights = hidden * model->head_size * 2 * (model->heads + model->kv_heads);
    model->full_layers = full_layers(config, model->layers);
    model->window = window(config);
    return 0;
}

/* Under a name that is none of those that read_layers() knows. */
static bool has_other_experts(const json_t *config)
{
    for (void *at = json_object_iter((json_t *)config); at;
         at = json_object_iter_next((json_t *)config, at)) {
        const json_t *value = json_object_iter_value(at);
        bool many = json_is_array(value) || json_number_value(value) > 1;
        if (many && strstr(json_object_iter_key(at), "experts"))
            return true;
    }
    return false;
}

/* Experts that each token uses beside those that are chosen for it: their inner size. */
static double shared_experts(const json_t *config, double inner_expert)
{
    double one = NUMBER(config, 0, "shared_expert_intermediate_size");
    double count =
        NUMBER(config, 0, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts");
    if (one == 0 && count == 0)
        count = NUMBER(config, 0, "interleave_moe_layer_step") > 0; /* Llama 4 has one */
    return one > 0 ? one : count * inner_expert;
}

static int read_layers(const json_t *config, struct served_model *model, char *why, size_t size)
{
    double hidden = NUMBER(config, 0, "hidden_size");
    double inner = NUMBER(config, 4 * hidden, "intermediate_size");
    double size_of = hidden * (family_of(config)->gateless ? 2 : 3);
    model->experts = NUMBER(config, 0, "num_local_experts", "num_experts", "n_routed_experts",
                            "moe_num_experts");
    if (model->experts <= 1) {
        model->experts = 0;
        model->dense_weights = model->layers * inner * size_of;
        return has_other_experts(config)
                   ? refuse(why, size, -ENOTSUP, "how it tells of its experts is not known")
                   : 0;
    }
    model->experts_used = NUMBER(config, 0, "num_experts_per_tok", "experts_per_token", "moe_k");
    if (model->experts_used == 0 || model->experts_used > model->experts)
        return refuse(why, size, -EINVAL,
                      "it has experts, but does not tell how many a token uses");
    double step = NUMBER(config, 1, "decoder_sparse_step", "interleave_moe_layer_step");
    double dense = NUMBER(config, 0, "first_k_dense_replace", "moe_layer_start_index");
    double inner_expert = NUMBER(config, inner, "moe_intermediate_size");
    double inner_dense = NUMBER(config, inner, "intermediate_size_mlp");
    model->expert_layers = floor(fmax(model->layers - dense, 0) / step);
    model->expert_weights = inner_expert * size_of;
    model->dense_weights = (model->layers - model->expert_layers) * inner_dense * size_of +
                           model->expert_layers * shared_experts(config, inner_expert) * size_of;
    return 0;
}

static void read_table(const json_t *config, struct served_model *model)
{
    double table = NUMBER(config, family_of(config)->vocabulary, "vocab_size") *
                   NUMBER(config, 0, "hidden_size");
    model->embedding_weights = table;
    model->head_weights = table;
    /* Not written where it is the default of transformers, which is true. */
    const json_t *tied = json_object_get(config, "tie_word_embeddings");
    model->tied = tied ? json_is_true(tied) : true;
}

/* Bits of the weights that are quantised, with a scale of 16 bits (and a zero point) a group; 0
 * where the method is not known. */
static double quantised_bits(const json_t *method)
{
    const char *name = string(method, "quant_method");
    double bits = NUMBER(method, 0, "bits", "w_bit");
    if (bits > 0 && bits <= 16) {
        double group = NUMBER(method, 0, "group_size", "q_group_size");
        return group > 0 ? bits + (16 + bits) / group : bits;
    }
    if (strcmp(name, "mxfp4") == 0)
        return 4 + 8.0 / 32;
    if (strcmp(name, "bitsandbytes") == 0)
        return json_is_true(json_object_get(method, "load_in_4bit")) ? 4.5 : 8;
    if (strstr(name, "fp8"))
        return 8;
    json_t *groups = json_object_get(method, "config_groups");
    json_t *group = json_object_iter_value(json_object_iter(groups));
    const json_t *weights = json_object_get(group, "weights");
    bits = NUMBER(weights, 0, "num_bits");
    double size = NUMBER(weights, 0, "group_size");
    if (bits > 16)
        return 0;
    /* The scales of 4-bit floating point (NVFP4) are FP8. */
    double scale = bits == 4 && strcmp(string(weights, "type"), "float") == 0 ? 8 : 16;
    return bits > 0 && size > 0 ? bits + scale / size : bits;
}

static bool computes_in_fp8(const json_t *method)
{
    if (strstr(string(method, "quant_method"), "fp8"))
        return true;
    json_t *groups = json_object_get(method, "config_groups");
    json_t *group = json_object_iter_value(json_object_iter(groups));
    const json_t *inputs = json_object_get(group, "input_activations");
    return json_number_value(json_object_get(inputs, "num_bits")) == 8 &&
           strcmp(string(inputs, "type"), "float") == 0;
}

/* The output matrix stays as it is, and with mxfp4 everything but the experts. */
static int read_bytes(const json_t *config, const json_t *top, struct served_model *model,
                      char *why, size_t size)
{
    const char *type = string(config, "torch_dtype");
    if (!type[0])
        type = string(config, "dtype");
    if (!type[0])
        type = string(top, "torch_dtype");
    double plain = bytes_of_type(type);
    model->bytes_attention = model->bytes_dense = model->bytes_expert = model->bytes_head = plain;
    model->bytes_kv = plain;
    model->type = LABEL_TYPE_BF16;
    const json_t *method = json_object_get(config, "quantization_config");
    if (!json_is_object(method))
        method = json_object_get(top, "quantization_config");
    if (!json_is_object(method))
        return 0;
    double bits = quantised_bits(method);
    if (bits <= 0)
        return refuse(why, size, -ENOTSUP,
                      "its quantization_config is of a kind that is not known");
    model->bytes_expert = bits / 8;
    if (strcmp(string(method, "quant_method"), "mxfp4") != 0)
        model->bytes_attention = model->bytes_dense = bits / 8;
    if (computes_in_fp8(method))
        model->type = LABEL_TYPE_FP8;
    return 0;
}

static int read_config(const json_t *top, struct served_model *model, char *why, size_t size)
{
    /* Of a model that sees images too, the part that writes. */
    const json_t *config = json_object_get(top, "text_config");
    if (!json_is_object(config))
        config = top;
    int r = read_attention(config, model, why, size);
    if (r == 0)
        r = read_layers(config, model, why, size);
    if (r < 0)
        return r;
    read_table(config, model);
    if (served_parameters(model) > MOST_PARAMETERS)
        return refuse(why, size, -EINVAL, "no model has as many weights as it tells of");
    return read_bytes(config, top, model, why, size);
}

int model_parse(const char *text, size_t length, struct served_model *ret, char *why,
                size_t why_size)
{
    json_error_t error;
    json_t *top = json_loadb(text, length, 0, &error);
    if (!json_is_object(top)) {
        json_decref(top);
        return refuse(why, why_size, -EINVAL, "it is not a JSON object");
    }
    struct served_model model = {0};
    int r = read_config(top, &model, why, why_size);
    json_decref(top);
    if (r == 0)
        *ret = model;
    return r;
}

void model_quantise(struct served_model *model, double bits, bool fp8_products)
{
    if (bits <= 0 || model->bytes_dense < 2 || model->bytes_expert < 2)
        return;
    model->bytes_attention = model->bytes_dense = model->bytes_expert = bits / 8;
    if (fp8_products)
        model->type = LABEL_TYPE_FP8;
}
