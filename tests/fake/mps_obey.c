/* The commands of protocol 2 that the fake daemon knows, and what the real one answered
 * (h200-mps.txt). Static partitions were never seen: they are as NVIDIA's documents have them. */
#include <stdio.h>
#include <string.h>

#include "mps_fake.h"

static unsigned long long parse_size(const char *text)
{
    char *end;
    unsigned long long size = strtoull(text, &end, 10);
    return *end == 'G' ? size << 30 : *end == 'M' ? size << 20 : size;
}

static void say_clients(const struct daemon *daemon, int fd)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            dprintf(fd, "%d\n", (int)daemon->connections[i].pid);
}

static void say_ps(const struct daemon *daemon, int fd)
{
    if (daemon->server == 0) {
        dprintf(fd, "Server not found\n");
        return;
    }
    if (has_clients(daemon))
        dprintf(fd, "%-9s %-9s %-14s %-25s %-14s %-15s\n", "PID", "ID", "SERVER", "DEVICE",
                "NAMESPACE", "COMMAND");
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            dprintf(fd, "%-9d %-9zu %-14d %-25.22s %-14s %s\n", (int)daemon->connections[i].pid,
                    i + 1, (int)daemon->server, device_uuid(), "4026531836", "fake_job");
}

static void say_size(int fd, unsigned long long bytes)
{
    if (bytes >> 30)
        dprintf(fd, "%lluG\n", bytes >> 30);
    else if (bytes)
        dprintf(fd, "%lluM\n", bytes >> 20);
}

/* What is none is not taken; the answer is what holds. */
static void set_percent(double *value, double percent, int fd)
{
    if (percent > 0 && percent <= 100)
        *value = percent;
    dprintf(fd, "%.1f\n", *value);
}

static void terminate(struct daemon *daemon, pid_t server, pid_t pid, int fd)
{
    if (daemon->server == 0 || server != daemon->server) {
        dprintf(fd, "Server %d not found\nServer %d not found!\n1\n", (int)server, (int)server);
        return;
    }
    for (size_t i = 0; i < CLIENTS; i++)
        if (pid && daemon->connections[i].pid == pid) {
            /* It stays a client until its process ends. */
            dprintf(daemon->connections[i].fd, "end\n");
            dprintf(fd, "0\n");
            return;
        }
    dprintf(fd, "1\n");
}

/* ---- static partitions ---- */

static unsigned used_chunks(const struct daemon *daemon)
{
    unsigned used = 0;
    for (unsigned i = 0; i < PARTITIONS; i++)
        used += daemon->partitions[i].id[0] ? daemon->partitions[i].chunks : 0;
    return used;
}

struct partition *find_partition(struct daemon *daemon, const char *name)
{
    const char *id = strrchr(name, '/');
    for (unsigned i = 0; id && i < PARTITIONS; i++)
        if (daemon->partitions[i].id[0] && strcmp(daemon->partitions[i].id, id + 1) == 0)
            return &daemon->partitions[i];
    return NULL;
}

static bool is_in_use(struct daemon *daemon, const struct partition *partition)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid &&
            find_partition(daemon, daemon->connections[i].partition) == partition)
            return true;
    return false;
}

static void say_partitions(struct daemon *daemon, int fd)
{
    static const char row[] = "%-18.12s %-12s %-6s %-6s %-5s %-5s %s\n";
    unsigned used = used_chunks(daemon);
    char columns[4][16];
    dprintf(fd, row, "GPU", "Partition", "free", "used", "free", "used", "clients");
    dprintf(fd, row, "", "", "chunk", "chunk", "SM", "SM", "");
    snprintf(columns[0], sizeof(columns[0]), "%u", CHUNKS - used);
    snprintf(columns[1], sizeof(columns[1]), "%u", used);
    snprintf(columns[2], sizeof(columns[2]), "%u", SMS - used * CHUNK_SMS);
    snprintf(columns[3], sizeof(columns[3]), "%u", used * CHUNK_SMS);
    dprintf(fd, row, device_uuid(), "-", columns[0], columns[1], columns[2], columns[3], "-");
    for (unsigned i = 0; i < PARTITIONS; i++) {
        const struct partition *partition = &daemon->partitions[i];
        if (!partition->id[0])
            continue;
        snprintf(columns[1], sizeof(columns[1]), "%u", partition->chunks);
        snprintf(columns[3], sizeof(columns[3]), "%u", partition->chunks * CHUNK_SMS);
        dprintf(fd, row, device_uuid(), partition->id, "-", columns[1], "-", columns[3],
                is_in_use(daemon, partition) ? "Yes" : "-");
    }
}

/* Its answer is in one of two forms. */
static void add_partition(struct daemon *daemon, unsigned chunks, int fd)
{
    struct partition *free_place = NULL;
    for (unsigned i = 0; i < PARTITIONS && !free_place; i++)
        free_place = daemon->partitions[i].id[0] ? NULL : &daemon->partitions[i];
    if (!free_place || chunks == 0 || used_chunks(daemon) + chunks > CHUNKS) {
        dprintf(fd,
                "Failed to fulfill the requested SM partition of %u chunks, error "
                "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n",
                chunks);
        return;
    }
    free_place->chunks = chunks;
    snprintf(free_place->id, sizeof(free_place->id), "%cx4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
             'A' + (int)(daemon->partition_count++ % 26));
    dprintf(fd, binary_version() > VERSION_PARTITIONS ? "Partition %s/%s created\n" : "%s/%s\n",
            device_uuid(), free_place->id);
}

static void remove_partition(struct daemon *daemon, const char *name, int fd)
{
    char path[LINE];
    snprintf(path, sizeof(path), "/%s", name);
    struct partition *partition = find_partition(daemon, path);
    if (!partition || is_in_use(daemon, partition))
        dprintf(fd, "Failed to remove SM partition %s\n", name);
    else
        *partition = (struct partition){0};
}

static bool obey_partitions(struct daemon *daemon, const char *command, int fd)
{
    unsigned chunks;
    char name[64];
    if (!daemon->static_partitions)
        return false;
    if (strcmp(command, "lspart") == 0)
        say_partitions(daemon, fd);
    else if (sscanf(command, "sm_partition add %*s %u", &chunks) == 1)
        add_partition(daemon, chunks, fd);
    else if (sscanf(command, "sm_partition rm %*s %63s", name) == 1)
        remove_partition(daemon, name, fd);
    else
        return false;
    return true;
}

/* ---- all ---- */

/* Says so where it is not the server. */
static bool is_server(const struct daemon *daemon, int server, int fd)
{
    if (daemon->server && server == daemon->server)
        return true;
    dprintf(fd, "Server %d not found\n", server);
    return false;
}

static bool obey_limits(struct daemon *daemon, const char *command, int fd)
{
    double percent = 0;
    char device[64], size[64];
    int server;
    if (strcmp(command, "get_default_active_thread_percentage") == 0) {
        dprintf(fd, "%.1f\n", daemon->sm);
    } else if (strncmp(command, "set_default_active_thread_percentage ", 37) == 0) {
        sscanf(command + 37, "%lf", &percent);
        set_percent(&daemon->sm, percent, fd);
    } else if (sscanf(command, "get_active_thread_percentage %d", &server) == 1) {
        if (is_server(daemon, server, fd))
            dprintf(fd, "%.1f\n", daemon->server_sm);
    } else if (sscanf(command, "set_active_thread_percentage %d %lf", &server, &percent) == 2) {
        if (is_server(daemon, server, fd))
            set_percent(&daemon->server_sm, percent, fd);
    } else if (sscanf(command, "get_default_device_pinned_mem_limit %63s", device) == 1) {
        say_size(fd, strcmp(device, "0") == 0 ? daemon->memory : 0);
    } else if (sscanf(command, "set_default_device_pinned_mem_limit %63s %63s", device, size) ==
               2) {
        /* Any device is taken, and one that is not there limits nothing. */
        if (strcmp(device, "0") == 0)
            daemon->memory = parse_size(size);
    } else if (sscanf(command, "get_device_pinned_mem_limit %d %63s", &server, device) == 2) {
        if (is_server(daemon, server, fd))
            say_size(fd, daemon->server_memory);
    } else if (sscanf(command, "set_device_pinned_mem_limit %d %*s %63s", &server, size) == 2) {
        if (is_server(daemon, server, fd))
            daemon->server_memory = parse_size(size);
    } else
        return false;
    return true;
}

static void say_devices(int fd)
{
    dprintf(fd,
            "Default\nDevice Ordinal  PCI IDs        UUID                                      "
            "Name                              Attributes\n"
            "0               0000:00.06.00  %s  NVIDIA H200                       N/A\n",
            device_uuid());
}

static void say_device_clients(const struct daemon *daemon, int fd)
{
    if (daemon->server)
        dprintf(fd, "[0] 00:00.0, NVIDIA H200\n");
    for (size_t i = 0; i < CLIENTS; i++)
        if (daemon->connections[i].pid && !daemon->connections[i].waiting)
            dprintf(fd, "%d.1\n", (int)daemon->connections[i].pid);
}

void obey(struct daemon *daemon, const char *command, int fd)
{
    int pid, server;
    if (obey_limits(daemon, command, fd) || obey_partitions(daemon, command, fd))
        return;
    if (strcmp(command, "get_server_list") == 0) {
        if (daemon->server)
            dprintf(fd, "%d\n", (int)daemon->server);
    } else if (sscanf(command, "get_server_status %d", &server) == 1) {
        if (is_server(daemon, server, fd))
            dprintf(fd, "%s\n", daemon->faulted ? "FAULT" : "ACTIVE");
    } else if (sscanf(command, "get_client_list %d", &server) == 1) {
        if (is_server(daemon, server, fd))
            say_clients(daemon, fd);
    } else if (strncmp(command, "get_device_client_list", 22) == 0) {
        say_device_clients(daemon, fd);
    } else if (strcmp(command, "ps") == 0) {
        say_ps(daemon, fd);
    } else if (sscanf(command, "ps -p %d", &server) == 1) {
        dprintf(fd, "Server %d not found\nServer %d not found\n\n", server, server);
    } else if (strcmp(command, "get_default_client_priority") == 0) {
        dprintf(fd, "0\n");
    } else if (strcmp(command, "device_query") == 0) {
        say_devices(fd);
    } else if (sscanf(command, "terminate_client %d %d", &server, &pid) == 2) {
        terminate(daemon, server, pid, fd);
    } else
        dprintf(fd, "Unknown command \"%s\"\n", command);
}
