#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "jobs/server.h"

enum { ENVIRONMENT_SIZE = 65536 };

/* As the process sees it: its root may be another, in a container. Returns 0 or -ENAMETOOLONG. */
static int path_of(const char *root, pid_t pid, const char *path, char *ret, size_t size)
{
    if (path[0] != '/') {
        int length = snprintf(ret, size, "%s/proc/%d/cwd/%s", root, (int)pid, path);
        return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
    }
    snprintf(ret, size, "%s/proc/%d/root", root, (int)pid);
    int length = access(ret, X_OK) == 0
                     ? snprintf(ret, size, "%s/proc/%d/root%s", root, (int)pid, path)
                     : snprintf(ret, size, "%s%s", root, path);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static const char *variable(const char *environment, size_t length, const char *name)
{
    size_t size = strlen(name);
    for (const char *entry = environment; entry < environment + length; entry += strlen(entry) + 1)
        if (strncmp(entry, name, size) == 0 && entry[size] == '=')
            return entry + size + 1;
    return NULL;
}

/* The hub's cache of the process: $HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub. */
static int find_hub(const char *root, pid_t pid, char *ret, size_t size)
{
    char path[PATH_MAX];
    CLEANUP_FREE char *text = malloc(ENVIRONMENT_SIZE);
    snprintf(path, sizeof(path), "%s/proc/%d/environ", root, (int)pid);
    ssize_t length = text ? file_read(path, text, ENVIRONMENT_SIZE) : -ENOMEM;
    if (length < 0)
        return (int)length;
    const char *cache = variable(text, (size_t)length, "HF_HUB_CACHE");
    const char *data = variable(text, (size_t)length, "HUGGINGFACE_HUB_CACHE");
    const char *hf_home = variable(text, (size_t)length, "HF_HOME");
    const char *home = variable(text, (size_t)length, "HOME");
    cache = cache ? cache : data;
    if (cache)
        snprintf(ret, size, "%s", cache);
    else if (hf_home)
        snprintf(ret, size, "%s/hub", hf_home);
    else if (home)
        snprintf(ret, size, "%s/.cache/huggingface/hub", home);
    else
        return -ENOENT;
    return 0;
}

/* HUB/models--ORGANISATION--NAME/snapshots/REVISION/config.json, of any revision. */
static int find_in_hub(const char *root, pid_t pid, const char *name, char *ret, size_t size)
{
    char hub[PATH_MAX / 2], folder[PATH_MAX], path[PATH_MAX], model[2 * SERVER_NAME_SIZE];
    int r = find_hub(root, pid, hub, sizeof(hub));
    if (r < 0)
        return r;
    size_t used = 0;
    for (const char *c = name; *c && used + 3 < sizeof(model); c++) {
        used += (size_t)snprintf(model + used, sizeof(model) - used, *c == '/' ? "--" : "%c", *c);
    }
    model[used] = '\0';
    snprintf(folder, sizeof(folder), "%s/models--%s/snapshots", hub, model);
    r = path_of(root, pid, folder, path, sizeof(path));
    if (r < 0)
        return r;
    DIR *revisions = opendir(path);
    if (!revisions)
        return -errno;
    int found = -ENOENT;
    struct dirent *entry;
    while (found < 0 && (entry = readdir(revisions))) {
        int length = snprintf(ret, size, "%s/%s/config.json", path, entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && (size_t)length < size &&
            access(ret, R_OK) == 0)
            found = 0;
    }
    closedir(revisions);
    return found;
}

/* "/m/qwen.gguf"; of Ollama "/home/a/.ollama/models/blobs/sha256-…". */
static bool names_gguf(const char *name)
{
    size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".gguf") == 0) || strstr(name, "/sha256-");
}

int server_find_shape(const char *root, pid_t pid, const char *name, char *ret, size_t size)
{
    char file[SERVER_NAME_SIZE + 16];
    if (names_gguf(name))
        return path_of(root, pid, name, ret, size);
    if (name[0] != '/')
        return strstr(name, "..") || !name[0] ? -ENOENT : find_in_hub(root, pid, name, ret, size);
    snprintf(file, sizeof(file), "%s/config.json", name);
    return path_of(root, pid, file, ret, size);
}
