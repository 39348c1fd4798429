#include "calibrate/graph.h"

#include <errno.h>
#include <stdio.h>

static bool has_graphs(const struct cuda_driver *driver)
{
    return driver->capture_begin && driver->capture_end && driver->graph_instantiate &&
           driver->graph_launch && driver->graph_destroy && driver->graph_executable_destroy;
}

/* Ends the recording also where it failed: the stream is of no use before. */
static int record(struct gpu *gpu, int (*enqueue)(void *context, char *why, size_t why_size),
                  void *context, void **ret_graph, char *why, size_t why_size)
{
    const struct cuda_driver *driver = gpu->driver;
    int r = gpu_check(driver, driver->capture_begin(gpu->stream, CUDA_CAPTURE_OF_THIS_THREAD),
                      "cuStreamBeginCapture", why, why_size);
    if (r < 0)
        return r;
    r = enqueue(context, why, why_size);
    cuda_result ended = driver->capture_end(gpu->stream, ret_graph);
    return r < 0 ? r : gpu_check(driver, ended, "cuStreamEndCapture", why, why_size);
}

int graph_make(struct gpu *gpu, int (*enqueue)(void *context, char *why, size_t why_size),
               void *context, void **ret, char *why, size_t why_size)
{
    const struct cuda_driver *driver = gpu->driver;
    void *graph = NULL;
    if (!has_graphs(driver)) {
        snprintf(why, why_size, "the driver has no CUDA graphs");
        return -ENOTSUP;
    }
    int r = record(gpu, enqueue, context, &graph, why, why_size);
    if (r == 0)
        r = gpu_check(driver, driver->graph_instantiate(ret, graph, 0), "cuGraphInstantiate", why,
                      why_size);
    if (graph)
        driver->graph_destroy(graph);
    return r;
}

int graph_enqueue(struct gpu *gpu, void *graph, char *why, size_t why_size)
{
    return gpu_check(gpu->driver, gpu->driver->graph_launch(graph, gpu->stream), "cuGraphLaunch",
                     why, why_size);
}

void graph_free(struct gpu *gpu, void *graph)
{
    if (graph && !gpu->hung)
        gpu->driver->graph_executable_destroy(graph);
}
