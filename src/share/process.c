#include "share/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter/cupti/helper.h"
#include "jobs/describe.h"
#include "jobs/proc.h"

/* A process' name in /proc holds 15 characters; MPS' daemon and server share these. */
static const char MPS_COMM[] = "nvidia-cuda-mps";
enum { ALL_PROCESSES = 32768, DEEPEST = 64 };

static bool read_living(pid_t pid, struct proc_identity *ret)
{
    return jobs_read_identity("", pid, ret) == 0 && !proc_has_ended(ret);
}

struct process_id process_identify(pid_t pid)
{
    struct proc_identity identity;
    return (struct process_id){
        .pid = pid,
        .start = read_living(pid, &identity) ? identity.start_ticks : 0,
    };
}

bool process_lives(struct process_id id)
{
    struct proc_identity identity;
    int r = id.pid > 0 ? jobs_read_identity("", id.pid, &identity) : -ESRCH;
    /* What cannot be read just now may live. */
    if (r < 0)
        return r != -ENOENT && r != -ESRCH;
    return !proc_has_ended(&identity) && identity.start_ticks == id.start;
}

/* Calls back for each living process, until that returns false. */
static void each_process(bool (*look)(void *context, pid_t pid, const struct proc_identity *),
                         void *context)
{
    DIR *processes = opendir("/proc");
    if (!processes)
        return;
    struct dirent *entry;
    while ((entry = readdir(processes))) {
        struct proc_identity identity;
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)atoi(entry->d_name) : 0;
        if (pid > 0 && read_living(pid, &identity) && !look(context, pid, &identity))
            break;
    }
    closedir(processes);
}

struct group_search {
    struct process_id leader;
    bool found;
};

static bool look_for_group(void *context, pid_t pid, const struct proc_identity *identity)
{
    (void)pid;
    struct group_search *search = context;
    search->found =
        identity->group == search->leader.pid && identity->start_ticks >= search->leader.start;
    return !search->found;
}

bool process_group_lives(struct process_id leader)
{
    struct group_search search = {.leader = leader};
    if (leader.pid > 0)
        each_process(look_for_group, &search);
    return search.found;
}

struct census {
    size_t count;
    struct {
        pid_t pid, parent;
        bool apart;
    } one[ALL_PROCESSES];
};

static bool count_process(void *context, pid_t pid, const struct proc_identity *identity)
{
    struct census *census = context;
    census->one[census->count].pid = pid;
    census->one[census->count].parent = identity->parent;
    census->one[census->count].apart =
        strncmp(identity->comm, MPS_COMM, sizeof(MPS_COMM) - 1) == 0 ||
        (identity->parent == getpid() && strcmp(identity->comm, CUPTI_HELPER_NAME) == 0);
    return ++census->count < ALL_PROCESSES;
}

void process_read_tree(pid_t root, struct process_tree *ret)
{
    ret->count = 0;
    struct census *census = calloc(1, sizeof(*census));
    if (!census)
        return;
    each_process(count_process, census);
    /* Children can have lower PIDs than their parents: go on until nothing is added. */
    size_t before;
    do {
        before = ret->count;
        for (size_t i = 0; i < census->count && ret->count < PROCESS_TREE_SIZE; i++) {
            pid_t pid = census->one[i].pid, parent = census->one[i].parent;
            if (!census->one[i].apart && (parent == root || process_tree_has(ret, parent)) &&
                !process_tree_has(ret, pid))
                ret->pids[ret->count++] = pid;
        }
    } while (ret->count != before);
    free(census);
}

bool process_tree_has(const struct process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->pids[i] == pid)
            return true;
    return false;
}

bool process_descends(pid_t pid, pid_t ancestor)
{
    struct proc_identity identity;
    for (unsigned depth = 0; pid > 1 && depth < DEEPEST; depth++) {
        if (pid == ancestor)
            return true;
        if (jobs_read_identity("", pid, &identity) < 0)
            return false;
        pid = identity.parent;
    }
    return false;
}
