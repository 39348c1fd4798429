#include "jobs/proc.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* The text behind `count` fields, which single spaces separate, or NULL. */
static const char *skip_fields(const char *text, int count)
{
    while (count-- > 0) {
        text = strchr(text, ' ');
        if (!text)
            return NULL;
        text++;
    }
    return text;
}

static int parse_digits(const char *text, unsigned long long *ret)
{
    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || (*end != '\0' && !isspace((unsigned char)*end)))
        return -EINVAL;
    *ret = value;
    return 0;
}

/* The number that is the field of so many fields behind the name, or 0. */
static unsigned long long number_behind(const char *name_end, int count)
{
    const char *field = skip_fields(name_end, count);
    unsigned long long number;
    return field && parse_digits(field, &number) == 0 ? number : 0;
}

int proc_parse_stat(const char *stat, struct proc_identity *ret)
{
    /* The name is in parentheses and may hold some itself. */
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    if (!open || !close || close < open || close[1] != ' ')
        return -EINVAL;
    const char *start = skip_fields(close + 2, 19);
    const char *parent = skip_fields(close + 2, 1);
    const char *group = skip_fields(close + 2, 2);
    unsigned long long ticks, parent_pid, group_pid;
    if (!start || parse_digits(start, &ticks) < 0 || parse_digits(parent, &parent_pid) < 0 ||
        parse_digits(group, &group_pid) < 0 || parent_pid > INT32_MAX || group_pid > INT32_MAX)
        return -EINVAL;
    size_t length = util_min((size_t)(close - open - 1), PROC_COMM_SIZE - 1);
    *ret = (struct proc_identity){
        .start_ticks = ticks,
        .parent = (pid_t)parent_pid,
        .group = (pid_t)group_pid,
        .state = close[2],
        .threads = (unsigned)number_behind(close + 2, 17),
        .memory = number_behind(close + 2, 20),
        .stack = number_behind(close + 2, 25),
    };
    memcpy(ret->comm, open + 1, length);
    return 0;
}

/* The text behind `key` where a line begins with it, or NULL. */
static const char *find_line(const char *text, const char *key)
{
    size_t length = strlen(key);
    while (text) {
        if (strncmp(text, key, length) == 0)
            return text + length;
        text = strchr(text, '\n');
        if (text)
            text++;
    }
    return NULL;
}

int proc_parse_user(const char *status, uid_t *ret)
{
    const char *ids = find_line(status, "Uid:\t");
    const char *effective = ids ? strchr(ids, '\t') : NULL;
    unsigned long long value;
    if (!effective || parse_digits(effective + 1, &value) < 0 || value > UINT32_MAX)
        return -EINVAL;
    *ret = (uid_t)value;
    return 0;
}

int proc_parse_boot_time(const char *stat, double *ret)
{
    const char *text = find_line(stat, "btime ");
    unsigned long long value;
    if (!text || parse_digits(text, &value) < 0)
        return -EINVAL;
    *ret = (double)value;
    return 0;
}

void proc_join_command(char *cmdline, size_t length, char *ret, size_t size)
{
    while (length > 0 && (cmdline[length - 1] == '\0' || cmdline[length - 1] == ' '))
        length--;
    cmdline[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (cmdline[i] == '\0')
            cmdline[i] = ' ';
    utf8_clean(ret, size, cmdline);
}

void proc_parse_cgroup(const char *cgroup, char *ret_path, size_t path_size, char *ret_container,
                       size_t container_size)
{
    ret_path[0] = '\0';
    ret_container[0] = '\0';
    while (*cgroup) {
        /* "ID:CONTROLLERS:PATH" */
        size_t line = strcspn(cgroup, "\n");
        const char *controllers = memchr(cgroup, ':', line);
        const char *path =
            controllers ? memchr(controllers + 1, ':', line - (size_t)(controllers + 1 - cgroup))
                        : NULL;
        if (path) {
            char raw[1024];
            snprintf(raw, sizeof(raw), "%.*s", (int)util_min(cgroup + line - (path + 1), 1023),
                     path + 1);
            bool found = proc_find_container(raw, ret_container, container_size);
            if (found || strlen(raw) > strlen(ret_path))
                utf8_clean(ret_path, path_size, raw);
            if (found)
                return;
        }
        cgroup += line + (cgroup[line] == '\n');
    }
}
