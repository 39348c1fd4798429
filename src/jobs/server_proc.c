#include "jobs/server_proc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jobs/describe.h"
#include "jobs/proc.h"

enum { MOST_SOCKETS = 16 };

/* Sockets that listen on the port. */
struct sockets {
    size_t count;
    struct {
        unsigned long inode;
        bool loopback; /* loopback leads there */
        bool ipv6;
    } of[MOST_SOCKETS];
};

/* An address as /proc/net/tcp writes it: 32-bit words in the byte order of the machine, which is
 * taken to be little-endian. */
static bool leads_from_loopback(const char *address, bool *ret_ipv6)
{
    static const char mapped[] = "0000000000000000FFFF0000";
    *ret_ipv6 = strlen(address) == 32;
    if (*ret_ipv6 && strncmp(address, mapped, sizeof(mapped) - 1) == 0) {
        address += sizeof(mapped) - 1;
        *ret_ipv6 = false;
    }
    if (strspn(address, "0") == strlen(address))
        return true;
    if (*ret_ipv6)
        return strcmp(address, "00000000000000000000000001000000") == 0;
    return strlen(address) == 8 && strcmp(address + 6, "7F") == 0;
}

static void add_line(const char *line, unsigned wanted, struct sockets *sockets)
{
    enum { LISTENS = 0x0A };
    char address[33];
    unsigned port, state;
    unsigned long inode;
    if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu",
               address, &port, &state, &inode) != 4 ||
        state != LISTENS || port != wanted || sockets->count == MOST_SOCKETS)
        return;
    bool ipv6;
    bool loopback = leads_from_loopback(address, &ipv6);
    sockets->of[sockets->count].inode = inode;
    sockets->of[sockets->count].loopback = loopback;
    sockets->of[sockets->count].ipv6 = ipv6;
    sockets->count++;
}

static void read_table(const char *root, const char *name, unsigned port, struct sockets *sockets)
{
    char path[PATH_MAX], line[512];
    snprintf(path, sizeof(path), "%s/proc/net/%s", root, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(line, sizeof(line), file))
        add_line(line, port, sockets);
    fclose(file);
}

/* Which of the sockets the process holds: its place, -ENOENT, or -EACCES where this user may not
 * see. */
static int find_held(const char *root, pid_t pid, const struct sockets *sockets)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/%d/fd", root, (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return errno == EACCES ? -EACCES : -ENOENT;
    int found = -ENOENT;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        char target[64] = "";
        unsigned long inode;
        if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) <= 0 ||
            sscanf(target, "socket:[%lu]", &inode) != 1)
            continue;
        for (size_t i = 0; i < sockets->count; i++)
            if (sockets->of[i].inode == inode && (found < 0 || sockets->of[i].loopback))
                found = (int)i;
    }
    closedir(folder);
    return found;
}

/* The same of the process and of its children: the one that listens may be one of these. */
static int find_holder(const char *root, pid_t pid, const struct sockets *sockets)
{
    int found = find_held(root, pid, sockets);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc", root);
    DIR *folder = found < 0 ? opendir(path) : NULL;
    struct dirent *entry;
    while (folder && found < 0 && (entry = readdir(folder))) {
        pid_t child = (pid_t)atoi(entry->d_name);
        struct proc_identity identity;
        if (child <= 0 || jobs_read_identity(root, child, &identity) < 0 || identity.parent != pid)
            continue;
        int held = find_held(root, child, sockets);
        found = held >= 0 ? held : found;
    }
    if (folder)
        closedir(folder);
    return found;
}

void server_find_socket(const char *root, struct server *server)
{
    struct sockets sockets = {0};
    read_table(root, "tcp", server->port, &sockets);
    read_table(root, "tcp6", server->port, &sockets);
    int held = find_holder(root, server->pid, &sockets);
    if (held == -EACCES)
        snprintf(server->silence, sizeof(server->silence),
                 "only its owner and root can see its sockets");
    else if (held < 0)
        snprintf(server->silence, sizeof(server->silence),
                 "it does not listen on port %u here: it is starting, or its network is another's",
                 server->port);
    else if (!sockets.of[held].loopback)
        snprintf(server->silence, sizeof(server->silence),
                 "it listens on port %u of an address that is not loopback's", server->port);
    else {
        server->reachable = true;
        server->ipv6 = sockets.of[held].ipv6;
    }
}
