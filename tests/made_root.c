#include "made_root.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_test.h"

char root[64];

int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/rooftop-root-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static void make_folders(char *path)
{
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

void put_bytes(const char *name, const char *bytes, size_t length)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

void put_text(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

void put_link(const char *name, const char *target)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    make_folders(path);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
}
