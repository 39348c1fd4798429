#include "base/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool runtime_is_chosen(void)
{
    return secure_getenv("ROOFTOP_RUNTIME_DIR") != NULL;
}

bool runtime_folder(unsigned which, char *ret, size_t size)
{
    bool chosen = runtime_is_chosen();
    const char *runtime = secure_getenv(chosen ? "ROOFTOP_RUNTIME_DIR" : "XDG_RUNTIME_DIR");
    unsigned user = (unsigned)geteuid();
    int length = 0;
    if (which == 0 && runtime && runtime[0] == '/')
        length = snprintf(ret, size, "%s/rooftop", runtime);
    else if (which == 1 && !chosen)
        length = snprintf(ret, size, "/run/user/%u/rooftop", user);
    else if (which == 2 && !chosen)
        length = snprintf(ret, size, "/tmp/rooftop-%u", user);
    return length > 0 && (size_t)length < size;
}
