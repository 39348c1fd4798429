#include "metric/process.h"

const char *process_kind_word(unsigned bit)
{
    static const char *const words[PROCESS_KIND_COUNT] = {"compute", "graphics", "mps_client",
                                                          "mps_server"};
    return words[bit];
}
