/* The shape of a language model, from its config.json as Hugging Face's transformers writes it, or
 * from its GGUF file. */
#pragma once

#include <stddef.h>

#include "base/util.h"
#include "sol/served.h"

/* Reads the text of a config.json, which may be anything. `why` tells what is missing or not known:
 * then the result is −EINVAL (no such file) or −ENOTSUP (a kind of model that is not known). */
MUST_CHECK int model_parse(const char *text, size_t length, struct served_model *ret, char *why,
                           size_t why_size);

/* Reads a file of either kind. −errno, with `why` filled, also where it cannot be read. */
MUST_CHECK int model_read(const char *path, struct served_model *ret, char *why, size_t why_size);

/* As a server reckons that makes weights of 16 bits smaller while it loads them: 0 bits, or weights
 * that are smaller on the disk, change nothing. */
void model_quantise(struct served_model *model, double bits, bool fp8_products);
