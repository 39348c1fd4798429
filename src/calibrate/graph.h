/* Launches that are recorded once and put into the stream as a whole: a CUDA graph. */
#pragma once

#include "calibrate/gpu.h"

/* Records what `enqueue` puts into the stream, one after the other. Returns 0, or −errno with `why`
 * filled, -ENOTSUP: the driver has no graphs. */
MUST_CHECK int graph_make(struct gpu *gpu,
                          int (*enqueue)(void *context, char *why, size_t why_size), void *context,
                          void **ret, char *why, size_t why_size);
MUST_CHECK int graph_enqueue(struct gpu *gpu, void *graph, char *why, size_t why_size);
void graph_free(struct gpu *gpu, void *graph);
