#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "jobs/gguf.h"
#include "jobs/model.h"
#include "jobs/server.h"

enum { CONFIG_SIZE = 1 << 20, ENVIRONMENT_SIZE = 65536 };

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

/* What stands there may be anything, so that it is opened without waiting and must be a file. */
static int open_file(const char *path, off_t *ret_size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    *ret_size = status.st_size;
    return fd;
}

/* The first `most` bytes, with a NUL behind them. */
static ssize_t read_head(int fd, size_t most, char **ret)
{
    char *text = malloc(most + 1);
    ssize_t length = text ? 0 : -ENOMEM;
    while (length >= 0 && (size_t)length < most) {
        ssize_t got = read(fd, text + length, most - (size_t)length);
        if (got < 0)
            length = -errno;
        if (got <= 0)
            break;
        length += got;
    }
    if (length < 0) {
        free(text);
        return length;
    }
    text[length] = '\0';
    *ret = text;
    return length;
}

static ssize_t read_file(const char *path, char **ret)
{
    off_t size;
    int fd = open_file(path, &size);
    if (fd < 0)
        return fd;
    ssize_t length = size < CONFIG_SIZE ? read_head(fd, CONFIG_SIZE - 1, ret) : -EINVAL;
    close(fd);
    return length;
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
static ssize_t read_from_hub(const char *root, pid_t pid, const char *name, char **ret)
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
    ssize_t length = -ENOENT;
    struct dirent *entry;
    while (length < 0 && (entry = readdir(revisions))) {
        char file[2 * PATH_MAX];
        snprintf(file, sizeof(file), "%s/%s/config.json", path, entry->d_name);
        if (entry->d_name[0] != '.')
            length = read_file(file, ret);
    }
    closedir(revisions);
    return length;
}

ssize_t server_read_config(const char *root, pid_t pid, const char *name, char **ret)
{
    char folder[SERVER_NAME_SIZE + 16], path[PATH_MAX];
    if (name[0] != '/')
        return strstr(name, "..") || !name[0] ? -ENOENT : read_from_hub(root, pid, name, ret);
    snprintf(folder, sizeof(folder), "%s/config.json", name);
    int r = path_of(root, pid, folder, path, sizeof(path));
    return r < 0 ? r : read_file(path, ret);
}

/* "/m/qwen.gguf"; of Ollama "/home/a/.ollama/models/blobs/sha256-…". */
static bool names_gguf(const char *name)
{
    size_t length = strlen(name);
    return (length > 5 && strcmp(name + length - 5, ".gguf") == 0) || strstr(name, "/sha256-");
}

static int read_gguf(const char *root, pid_t pid, const char *name, struct served_model *ret,
                     char *why, size_t why_size)
{
    char path[PATH_MAX];
    CLEANUP_FREE char *head = NULL;
    off_t size = 0;
    int fd = path_of(root, pid, name, path, sizeof(path));
    if (fd == 0)
        fd = open_file(path, &size);
    if (fd < 0)
        return fd;
    ssize_t length = read_head(fd, GGUF_HEAD_BYTES, &head);
    close(fd);
    return length < 0 ? (int)length
                      : gguf_parse(head, (size_t)length, (double)size, ret, why, why_size);
}

int server_read_shape(const char *root, pid_t pid, const char *name, struct served_model *ret,
                      char *why, size_t why_size)
{
    if (names_gguf(name))
        return read_gguf(root, pid, name, ret, why, why_size);
    CLEANUP_FREE char *text = NULL;
    ssize_t length = server_read_config(root, pid, name, &text);
    return length < 0 ? (int)length : model_parse(text, (size_t)length, ret, why, why_size);
}
