#include "jobs/gguf.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "jobs/model.h"

/* ggml-org/ggml, docs/gguf.md. All little-endian: "GGUF", version, counts of tensors and of pairs;
 * the pairs of name and value; then the tensors, of which only names and sizes matter here. */
enum type { TYPE_UINT32 = 4, TYPE_FLOAT32 = 6, TYPE_STRING = 8, TYPE_ARRAY = 9, TYPE_COUNT = 13 };
enum { OLDEST_VERSION = 2, MOST_DIMENSIONS = 4 };
static const unsigned char type_bytes[TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct cursor {
    const unsigned char *at;
    size_t left;
};

struct text {
    const char *start;
    uint64_t length;
};

struct value {
    double number; /* of a number, else NAN */
    struct text text;
    uint64_t count; /* of an array */
};

/* Each of these is false where the data ends before. */
static bool skip(struct cursor *cursor, uint64_t bytes)
{
    if (bytes > cursor->left)
        return false;
    cursor->at += bytes;
    cursor->left -= bytes;
    return true;
}

static bool take_integer(struct cursor *cursor, size_t bytes, uint64_t *ret)
{
    const unsigned char *from = cursor->at;
    if (!skip(cursor, bytes))
        return false;
    *ret = 0;
    for (size_t i = 0; i < bytes; i++)
        *ret |= (uint64_t)from[i] << (8 * i);
    return true;
}

static bool take_text(struct cursor *cursor, struct text *ret)
{
    uint64_t length;
    if (!take_integer(cursor, 8, &length))
        return false;
    *ret = (struct text){(const char *)cursor->at, length};
    return skip(cursor, length);
}

static bool skip_array(struct cursor *cursor, uint64_t *ret_count)
{
    uint64_t type;
    struct text text;
    if (!take_integer(cursor, 4, &type) || !take_integer(cursor, 8, ret_count) ||
        type >= TYPE_COUNT || type == TYPE_ARRAY)
        return false;
    if (type != TYPE_STRING)
        return *ret_count <= cursor->left && skip(cursor, *ret_count * type_bytes[type]);
    for (uint64_t i = 0; i < *ret_count; i++)
        if (!take_text(cursor, &text))
            return false;
    return true;
}

/* Of the numbers only the unsigned ones of 32 bits matter, and others that look like them. */
static bool take_value(struct cursor *cursor, struct value *ret)
{
    uint64_t type, bits;
    *ret = (struct value){.number = NAN};
    if (!take_integer(cursor, 4, &type) || type >= TYPE_COUNT)
        return false;
    if (type == TYPE_STRING)
        return take_text(cursor, &ret->text);
    if (type == TYPE_ARRAY)
        return skip_array(cursor, &ret->count);
    if (!take_integer(cursor, type_bytes[type], &bits))
        return false;
    if (type != TYPE_FLOAT32)
        ret->number = (double)bits;
    return true;
}

static bool text_is(struct text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.start, word, text.length) == 0;
}

/* Of "llama.block_count" of a file of that architecture the second part, else "". */
static struct text key_of(struct text name, struct text architecture)
{
    if (name.length <= architecture.length + 1 || architecture.length == 0 ||
        memcmp(name.start, architecture.start, architecture.length) != 0 ||
        name.start[architecture.length] != '.')
        return (struct text){0};
    return (struct text){name.start + architecture.length + 1,
                         name.length - architecture.length - 1};
}

static void add_number(struct json *config, const char *name, double value)
{
    json_key(config, name);
    json_add_number(config, value);
}

/* The same in the words of a config.json. False where each layer has a value of its own. */
static bool add_pair(struct json *config, struct text key, const struct value *value)
{
    static const struct {
        const char *key, *name;
    } words[] = {
        {"block_count", "num_hidden_layers"},
        {"embedding_length", "hidden_size"},
        {"feed_forward_length", "intermediate_size"},
        {"vocab_size", "vocab_size"},
        {"attention.head_count", "num_attention_heads"},
        {"attention.head_count_kv", "num_key_value_heads"},
        {"attention.key_length", "head_dim"},
        {"attention.sliding_window", "sliding_window"},
        {"attention.chunk_size", "attention_chunk_size"},
        {"attention.kv_lora_rank", "kv_lora_rank"},
        {"ssm.state_size", "ssm_state_size"},
        {"expert_count", "num_local_experts"},
        {"expert_used_count", "num_experts_per_tok"},
        {"expert_feed_forward_length", "moe_intermediate_size"},
        {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
        {"expert_shared_count", "n_shared_experts"},
        {"leading_dense_block_count", "first_k_dense_replace"},
        {"interleave_moe_layer_step", "interleave_moe_layer_step"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!text_is(key, words[i].key))
            continue;
        if (!isnan(value->number))
            add_number(config, words[i].name, value->number);
        return value->count == 0;
    }
    return true;
}

static void add_architecture(struct json *config, struct text architecture)
{
    char name[32];
    snprintf(name, sizeof(name), "%.*s", (int)util_min(architecture.length, sizeof(name) - 1),
             architecture.start);
    json_key(config, "model_type");
    json_add_text(config, name);
}

struct tensors {
    bool has_head; /* an output matrix of its own */
    double elements;
};

static bool take_tensors(struct cursor *cursor, uint64_t count, struct tensors *ret)
{
    struct tensors tensors = {0};
    for (uint64_t i = 0; i < count; i++) {
        struct text name;
        uint64_t dimensions, size;
        double elements = 1;
        if (!take_text(cursor, &name) || !take_integer(cursor, 4, &dimensions) ||
            dimensions > MOST_DIMENSIONS)
            return false;
        for (uint64_t k = 0; k < dimensions; k++) {
            if (!take_integer(cursor, 8, &size))
                return false;
            elements *= (double)size;
        }
        if (!skip(cursor, 4 + 8)) /* type and place */
            return false;
        tensors.elements += elements;
        tensors.has_head |= text_is(name, "output.weight");
    }
    *ret = tensors;
    return true;
}

struct pairs {
    bool split;  /* the file is one of several */
    bool uneven; /* layers differ */
};

static bool take_pairs(struct cursor *cursor, uint64_t count, struct json *config,
                       struct pairs *ret)
{
    struct text architecture = {0};
    bool has_vocabulary = false;
    for (uint64_t i = 0; i < count; i++) {
        struct text name;
        struct value value;
        if (!take_text(cursor, &name) || !take_value(cursor, &value))
            return false;
        struct text key = key_of(name, architecture);
        if (text_is(name, "general.architecture")) {
            architecture = value.text;
            add_architecture(config, architecture);
        } else if (text_is(name, "tokenizer.ggml.tokens") && !has_vocabulary)
            add_number(config, "vocab_size", (double)value.count);
        else if (text_is(name, "split.count"))
            ret->split = value.number > 1;
        ret->uneven |= !add_pair(config, key, &value);
        has_vocabulary |= text_is(key, "vocab_size");
    }
    return true;
}

/* All weights have the mean number of bits: quantisations differ from matrix to matrix. */
static void set_bytes(double bytes, struct served_model *model)
{
    static const double fewest = 1.0 / 8, most = 4;
    if (!(bytes >= fewest))
        return;
    bytes = fmin(bytes, most); /* the file has more than weights */
    model->bytes_attention = model->bytes_dense = model->bytes_expert = model->bytes_head = bytes;
}

static int read_head(struct cursor *cursor, double file_bytes, uint64_t tensor_count,
                     uint64_t pair_count, struct served_model *ret, char *why, size_t why_size)
{
    struct strbuf text = {0};
    struct json config = json_start(&text);
    struct tensors tensors = {0};
    struct pairs pairs = {0};
    json_object_begin(&config);
    if (take_pairs(cursor, pair_count, &config, &pairs) &&
        take_tensors(cursor, tensor_count, &tensors) && !pairs.split) {
        json_key(&config, "tie_word_embeddings");
        json_add_bool(&config, !tensors.has_head);
    }
    json_object_end(&config);
    int r = strbuf_failed(&text) ? -ENOMEM
                                 : model_parse(strbuf_text(&text), text.length, ret, why, why_size);
    strbuf_free(&text);
    if (r == 0 && pairs.uneven) {
        snprintf(why, why_size, "its layers differ from each other");
        r = -ENOTSUP;
    }
    if (r == 0 && tensors.elements > 0)
        set_bytes(file_bytes / tensors.elements, ret);
    return r;
}

int gguf_parse(const void *head, size_t length, double file_bytes, struct served_model *ret,
               char *why, size_t why_size)
{
    struct cursor cursor = {head, length};
    struct served_model model;
    uint64_t version, tensor_count, pair_count;
    if (length < 4 || memcmp(head, "GGUF", 4) != 0 || !skip(&cursor, 4) ||
        !take_integer(&cursor, 4, &version) || version < OLDEST_VERSION ||
        !take_integer(&cursor, 8, &tensor_count) || !take_integer(&cursor, 8, &pair_count)) {
        snprintf(why, why_size, "it is no GGUF file of version %d or newer", OLDEST_VERSION);
        return -EINVAL;
    }
    int r = read_head(&cursor, file_bytes, tensor_count, pair_count, &model, why, why_size);
    if (r == 0)
        *ret = model;
    return r;
}
