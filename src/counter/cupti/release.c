#include "counter/cupti/release.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "counter/cupti/helper.h"

/* Returns the length; 0 where it cannot be read. */
static size_t read_file(const char *root, const char *pid, const char *name, char *text,
                        size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%.16s/%s", root, pid, name);
    ssize_t length = file_read(path, text, size);
    text[length < 0 ? 0 : length] = '\0';
    return length < 0 ? 0 : (size_t)length;
}

/* Its thread's name and its second argument; a name alone anybody can have. */
static bool is_helper(const char *root, const char *pid)
{
    char name[32];
    char arguments[256];
    read_file(root, pid, "comm", name, sizeof(name));
    name[strcspn(name, "\n")] = '\0';
    if (strcmp(name, CUPTI_HELPER_NAME) != 0)
        return false;
    size_t length = read_file(root, pid, "cmdline", arguments, sizeof(arguments));
    size_t first = strlen(arguments);
    return first + 1 < length && strcmp(arguments + first + 1, CUPTI_HELPER_COMMAND) == 0;
}

int cupti_release(const char *root, unsigned seconds, unsigned *ret_asked, unsigned *ret_refused)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc", root);
    DIR *processes = opendir(path);
    if (!processes)
        return -errno;
    unsigned asked = 0, refused = 0;
    const struct dirent *entry;
    while ((entry = readdir(processes))) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_helper(root, entry->d_name))
            continue;
        pid_t pid;
        union sigval value = {.sival_int = (int)seconds};
        if (sscanf(entry->d_name, "%d", &pid) != 1)
            continue;
        if (sigqueue(pid, SIGUSR1, value) == 0)
            asked++;
        else if (errno == EPERM)
            refused++;
    }
    closedir(processes);
    *ret_asked = asked;
    *ret_refused = refused;
    return 0;
}
