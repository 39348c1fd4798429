#include "base/dso.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int bind_symbols(void *handle, const struct dso_symbol *symbols, size_t count,
                        void *functions, char *why, size_t why_size)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(handle, symbols[i].name);
        if (!address && symbols[i].required) {
            snprintf(why, why_size, "the library has no function %s", symbols[i].name);
            return -ENOSYS;
        }
        memcpy((char *)functions + symbols[i].offset, &address, sizeof(address));
    }
    return 0;
}

static int open_one(struct dso *ret_dso, const char *path, const struct dso_symbol *symbols,
                    size_t count, void *functions, char *why, size_t why_size)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *error = dlerror();
        snprintf(why, why_size, "%s", error ? error : path);
        return -ENOENT;
    }
    int r = bind_symbols(handle, symbols, count, functions, why, why_size);
    if (r < 0) {
        dlclose(handle);
        return r;
    }
    ret_dso->handle = handle;
    snprintf(ret_dso->path, sizeof(ret_dso->path), "%s", path);
    return 0;
}

int dso_open(struct dso *ret_dso, const char *variable, const char *const *candidates,
             const struct dso_symbol *symbols, size_t symbol_count, void *functions, char *why,
             size_t why_size)
{
    const char *named = secure_getenv(variable);
    if (named && named[0])
        return open_one(ret_dso, named, symbols, symbol_count, functions, why, why_size);

    int r = -ENOENT;
    for (; *candidates; candidates++) {
        int one = open_one(ret_dso, *candidates, symbols, symbol_count, functions, why, why_size);
        if (one == 0)
            return 0;
        if (one != -ENOENT)
            r = one;
    }
    return r;
}

void dso_close(struct dso *dso)
{
    if (dso->handle)
        dlclose(dso->handle);
    *dso = (struct dso){0};
}
