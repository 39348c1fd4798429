/* The shape of a language model, from the head of a GGUF file: what llama.cpp and Ollama run. */
#pragma once

#include <stddef.h>

#include "base/util.h"
#include "sol/served.h"

/* So much of a file has its metadata and the list of its tensors. */
enum { GGUF_HEAD_BYTES = 32 << 20 };

/* Reads the first `length` bytes of a file of `file_bytes`; they may be anything. Results as of
 * model_parse(). */
MUST_CHECK int gguf_parse(const void *head, size_t length, double file_bytes,
                          struct served_model *ret, char *why, size_t why_size);
