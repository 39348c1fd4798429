#include "store/place.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int store_path(const char *file, struct strbuf *out)
{
    const char *data = secure_getenv("XDG_DATA_HOME");
    const char *home = secure_getenv("HOME");
    if (data && data[0] == '/')
        strbuf_printf(out, "%s", data);
    else if (geteuid() == 0)
        strbuf_puts(out, "/var/lib");
    else if (home && home[0] == '/')
        strbuf_printf(out, "%s/.local/share", home);
    else
        return -ENOENT;
    strbuf_printf(out, "/rooftop/%s", file);
    return strbuf_failed(out) ? -ENOMEM : 0;
}
