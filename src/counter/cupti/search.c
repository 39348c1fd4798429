#include "counter/cupti/search.h"

#include <stdlib.h>

#include "base/search.h"

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};

static const char *const patterns[] = {
    "/usr/local/cuda/{lib64,lib,extras/CUPTI/lib64}/libcupti.so*",
    "/usr/local/cuda-*/{lib64,lib,extras/CUPTI/lib64}/libcupti.so*",
    "/opt/cuda/{lib64,extras/CUPTI/lib64}/libcupti.so*",
    "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/*/extras/CUPTI/lib64/libcupti.so*",
    "/usr/{local/,}lib/python3*/dist-packages/nvidia/{cuda_cupti,cu1?}/lib/libcupti.so*",
    "/usr/{local/,}lib{,64}/python3*/site-packages/nvidia/{cuda_cupti,cu1?}/lib/libcupti.so*",
    NULL,
};

static const struct library_places places = {
    names,
    patterns,
    "/lib{,64}/python3*/site-packages/nvidia/{cuda_cupti,cu1?}/lib/libcupti.so*",
};

const char *cupti_search_override(void)
{
    const char *named = secure_getenv("ROOFTOP_CUPTI");
    return named && named[0] ? named : NULL;
}

void cupti_search(bool (*visit)(void *context, const char *path), void *context)
{
    library_search(&places, visit, context);
}
