#include "share/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "counter/cupti/helper.h"
#include "jobs/describe.h"
#include "jobs/proc.h"
#include "share/mps.h"

/* A process' name in /proc holds 15 characters; MPS' daemon and server share these. */
static const char MPS_COMM[] = "nvidia-cuda-mps";
enum { DEEPEST = 1 << 16 };

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

bool process_is_ending(pid_t pid)
{
    struct proc_identity identity;
    int r = jobs_read_identity("", pid, &identity);
    return r < 0 ? r == -ENOENT || r == -ESRCH : identity.memory == 0;
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
    /* No process gets the number of a group that lives. */
    unsigned long long now = leader.pid > 0 ? process_identify(leader.pid).start : 0;
    if (leader.pid > 0 && (now == 0 || now == leader.start))
        each_process(look_for_group, &search);
    return search.found;
}

/* Its place in the tree that is being read. */
enum place { UNKNOWN, INSIDE, OUTSIDE };

struct counted {
    pid_t pid, parent;
    enum place place;
};

/* All processes of this host. */
struct census {
    const char *run;
    size_t count, room;
    struct counted *all;
};

/* The program behind the process is this one. */
static bool is_this_program(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 &&
           theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static bool is_apart(const char *run, pid_t pid, const struct proc_identity *identity)
{
    return (strncmp(identity->comm, MPS_COMM, sizeof(MPS_COMM) - 1) == 0 &&
            mps_is_daemon(run, pid)) ||
           (identity->parent == getpid() && strcmp(identity->comm, CUPTI_HELPER_NAME) == 0 &&
            is_this_program(pid));
}

static bool count_process(void *context, pid_t pid, const struct proc_identity *identity)
{
    struct census *census = context;
    if (array_grow(&census->all, census->count, &census->room, sizeof(*census->all)) < 0)
        return false;
    census->all[census->count++] = (struct counted){
        .pid = pid,
        .parent = identity->parent,
        .place = is_apart(census->run, pid, identity) ? OUTSIDE : UNKNOWN,
    };
    return true;
}

static int by_pid(const void *a, const void *b)
{
    const pid_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

_Static_assert(offsetof(struct counted, pid) == 0, "by_pid() compares what begins with a PID");

static struct counted *find(const struct census *census, pid_t pid)
{
    return bsearch(&pid, census->all, census->count, sizeof(*census->all), by_pid);
}

/* Goes up to the first ancestor whose place is known, and gives its place to all on the way. */
static void place_in_tree(const struct census *census, pid_t root, struct counted *process)
{
    struct counted *top = process;
    while (top && top->place == UNKNOWN && top->parent != root) {
        /* Ends a circle: the parents are not of one instant. */
        top->place = OUTSIDE;
        top = find(census, top->parent);
    }
    if (!top || top->place == OUTSIDE)
        return;
    top->place = INSIDE;
    for (struct counted *at = process; at != top; at = find(census, at->parent))
        at->place = INSIDE;
}

void process_read_tree(pid_t root, const char *run, struct process_tree *ret)
{
    struct census census = {.run = run};
    each_process(count_process, &census);
    qsort(census.all, census.count, sizeof(*census.all), by_pid);
    if (census.count > 0)
        ret->count = 0;
    for (size_t i = 0; i < census.count; i++) {
        place_in_tree(&census, root, &census.all[i]);
        if (census.all[i].place == INSIDE && process_tree_add(ret, census.all[i].pid) < 0)
            break;
    }
    free(census.all);
}

bool process_tree_has(const struct process_tree *tree, pid_t pid)
{
    return tree->count > 0 &&
           bsearch(&pid, tree->pids, tree->count, sizeof(*tree->pids), by_pid) != NULL;
}

int process_tree_add(struct process_tree *tree, pid_t pid)
{
    int r = array_grow(&tree->pids, tree->count, &tree->room, sizeof(*tree->pids));
    if (r < 0)
        return r;
    size_t place = tree->count++;
    for (; place > 0 && tree->pids[place - 1] > pid; place--)
        tree->pids[place] = tree->pids[place - 1];
    tree->pids[place] = pid;
    return 0;
}

void process_tree_free(struct process_tree *tree)
{
    free(tree->pids);
    *tree = (struct process_tree){0};
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
