/* The shape of a language model, from its config.json as Hugging Face's transformers writes it. */
#pragma once

#include <stddef.h>

#include "base/util.h"
#include "sol/served.h"

/* Reads the text of a config.json, which may be anything. `why` tells what is missing or not known:
 * then the result is −EINVAL (no such file) or −ENOTSUP (a kind of model that is not known). */
MUST_CHECK int model_parse(const char *text, size_t length, struct served_model *ret, char *why,
                           size_t why_size);
