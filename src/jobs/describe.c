#include "jobs/describe.h"

bool jobs_read_process(const char *root, pid_t pid, struct process_description *ret)
{
    (void)root;
    (void)pid;
    (void)ret;
    return false;
}
