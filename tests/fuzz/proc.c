#include "jobs/proc.h"

#include "base/utf8.h"
#include "fuzz.h"

static void must_be_clean(const char *text, size_t size)
{
    MUST(strlen(text) < size);
    while (*text) {
        size_t length = utf8_sequence_length(text);
        MUST(length > 0);
        MUST(length > 1 || (*text >= 0x20 && *text != 0x7F));
        text += length;
    }
}

static void try_cgroup(const char *text)
{
    char path[64];
    char container[24];
    proc_parse_cgroup(text, path, sizeof(path), container, sizeof(container));
    must_be_clean(path, sizeof(path));
    must_be_clean(container, sizeof(container));
    if (proc_find_container(text, container, sizeof(container))) {
        must_be_clean(container, sizeof(container));
        MUST(strchr(container, ':'));
    }
}

static void try_command(const uint8_t *data, size_t size)
{
    char command[32];
    char *cmdline = fuzz_text(data, size);
    proc_join_command(cmdline, size, command, sizeof(command));
    must_be_clean(command, sizeof(command));
    free(cmdline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct proc_identity identity;
    uid_t user;
    double boot;
    if (proc_parse_stat(text, &identity) == 0)
        MUST(memchr(identity.comm, '\0', sizeof(identity.comm)));
    if (proc_parse_user(text, &user) == 0)
        MUST(strstr(text, "Uid:\t"));
    if (proc_parse_boot_time(text, &boot) == 0)
        MUST(boot >= 0);
    try_cgroup(text);
    free(text);
    try_command(data, size);
    return 0;
}
