#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "share/mps_internal.h"
#include "share/place.h"

/* Which partition is whose: "LEASE PARTITION", a line each, in this file of the daemon's folder. */
static const char RECORD[] = "partitions";
enum { PARTITIONS = 64, FIRST_VERSION = 13010 };
static const double VERSION_PATIENCE = 5;

struct owned {
    uint64_t lease;
    char partition[MPS_PARTITION_SIZE];
};

/* A row of `lspart`: of the GPU, whose partition is "-", or of a partition. */
struct row {
    char gpu[DEVICE_TEXT_SIZE];
    char id[MPS_PARTITION_SIZE];
    char chunks_free[16], chunks_used[16], sms_free[16], sms_used[16];
};

/* "CUDA MPS Control for Linux/Unix/QNX. Binary version: 13000" */
static int ask_version(const char *program)
{
    struct strbuf said = {0};
    int status, version = 0;
    const struct spawn spawn = {
        .argv = (const char *[]){program, "-v", NULL},
        .envp = environ,
        .patience = VERSION_PATIENCE,
    };
    if (spawn_run(&spawn, &said, &status) == 0) {
        const char *at = strstr(strbuf_text(&said), "version: ");
        if (at && sscanf(at, "version: %d", &version) != 1)
            version = 0;
    }
    strbuf_free(&said);
    return version;
}

bool mps_find_program(struct mps_program *ret)
{
    struct mps_program found = {0};
    if (!mps_find_path(found.path, sizeof(found.path)))
        return false;
    found.version = ask_version(found.path);
    found.static_partitions = found.version >= FIRST_VERSION;
    found.shared_memory = mps_has_shared_memory();
    *ret = found;
    return true;
}

/* The next row of the table; false behind its end. */
static bool next_row(const char **text, struct row *ret)
{
    while (**text) {
        const char *line = *text;
        size_t length = strcspn(line, "\n");
        *text += length + (line[length] == '\n');
        char copy[512];
        snprintf(copy, sizeof(copy), "%.*s", (int)util_min(length, sizeof(copy) - 1), line);
        if (sscanf(copy, "%95s %159s %15s %15s %15s %15s", ret->gpu, ret->id, ret->chunks_free,
                   ret->chunks_used, ret->sms_free, ret->sms_used) == 6 &&
            strchr(ret->gpu, '-'))
            return true;
    }
    return false;
}

/* The row of a partition, by what follows the '/' in its name, or the GPU's own for "-". The table
 * shortens UUIDs. */
static bool find_row(const struct mps *mps, const char *table, const char *id, struct row *ret)
{
    while (next_row(&table, ret))
        if (strcmp(ret->id, id) == 0 && strncmp(ret->gpu, mps->uuid, strlen(ret->gpu)) == 0)
            return true;
    return false;
}

static const char *id_of(const char *partition)
{
    const char *slash = strchr(partition, '/');
    return slash ? slash + 1 : partition;
}

/* Asks for the table and looks the partition up. Returns 0 or −errno; -ENOENT: it is not there. */
static int look_up(const struct mps *mps, const char *id, struct row *ret)
{
    struct strbuf table = {0};
    int r = mps_ask(mps, "lspart", &table);
    if (r == 0 && !find_row(mps, strbuf_text(&table), id, ret))
        r = -ENOENT;
    strbuf_free(&table);
    return r;
}

bool mps_has_partitions(const struct mps *mps)
{
    struct row row;
    return look_up(mps, "-", &row) == 0;
}

static const char *record_path(const struct mps *mps, char ret[256])
{
    snprintf(ret, 256, "%s/%s", mps->folder, RECORD);
    return ret;
}

static size_t read_record(const struct mps *mps, struct owned ret[PARTITIONS])
{
    char path[256], line[256];
    size_t count = 0;
    FILE *file = fopen(record_path(mps, path), "re");
    while (file && count < PARTITIONS && fgets(line, sizeof(line), file))
        if (sscanf(line, "%" SCNu64 " %159s", &ret[count].lease, ret[count].partition) == 2)
            count++;
    if (file)
        fclose(file);
    return count;
}

static int write_record(const struct mps *mps, const struct owned *owned, size_t count)
{
    char path[256];
    struct strbuf text = {0};
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, "%" PRIu64 " %s\n", owned[i].lease, owned[i].partition);
    int r = file_replace(record_path(mps, path), &text);
    strbuf_free(&text);
    return r;
}

void mps_forget_partitions(const struct mps *mps)
{
    char path[256];
    unlink(record_path(mps, path));
}

static bool has(const uint64_t *leases, size_t count, uint64_t lease)
{
    for (size_t i = 0; i < count; i++)
        if (leases[i] == lease)
            return true;
    return false;
}

/* True where it is there no more: one that is in use stays. */
static bool remove_partition(const struct mps *mps, const char *partition)
{
    struct strbuf answer = {0};
    struct row row;
    char command[256];
    snprintf(command, sizeof(command), "sm_partition rm %s %s", mps->uuid, id_of(partition));
    int r = mps_ask(mps, command, &answer);
    strbuf_free(&answer);
    return r == 0 && look_up(mps, id_of(partition), &row) == -ENOENT;
}

void mps_sweep_partitions(const struct mps *mps, const uint64_t *leases, size_t lease_count)
{
    struct owned owned[PARTITIONS];
    size_t count = read_record(mps, owned), kept = 0;
    for (size_t i = 0; i < count; i++)
        if (has(leases, lease_count, owned[i].lease) || !remove_partition(mps, owned[i].partition))
            owned[kept++] = owned[i];
    /* Where it cannot be written, the next sweep finds them gone. */
    if (kept < count)
        write_record(mps, owned, kept);
}

/* The first word with a '/' is its name: it is answered alone or in a sentence. */
static bool find_name(const char *answer, char ret[MPS_PARTITION_SIZE])
{
    const char *slash = strchr(answer, '/'), *begin = slash;
    if (!slash)
        return false;
    while (begin > answer && !strchr(" \n", begin[-1]))
        begin--;
    size_t length = strcspn(begin, " \n");
    if (length >= MPS_PARTITION_SIZE)
        return false;
    snprintf(ret, MPS_PARTITION_SIZE, "%.*s", (int)length, begin);
    return true;
}

static int add(const struct mps *mps, unsigned chunks, char name[MPS_PARTITION_SIZE],
               struct counter_failure *failure)
{
    char command[160];
    struct strbuf answer = {0};
    struct row row;
    snprintf(command, sizeof(command), "sm_partition add %s %u", mps->uuid, chunks);
    int r = mps_ask(mps, command, &answer);
    if (r == 0 && !find_name(strbuf_text(&answer), name))
        r = -EPROTO;
    /* It counts only when it was read back. */
    if (r == 0 &&
        (look_up(mps, id_of(name), &row) < 0 || (unsigned)atoi(row.chunks_used) != chunks))
        r = -EPROTO;
    const char *said = strbuf_text(&answer);
    if (r < 0)
        share_fail(failure, r, "",
                   "the MPS daemon of %s made no partition: after '%s' it says '%.*s'", mps->uuid,
                   command, (int)util_min(strcspn(said, "\n"), 120), said);
    strbuf_free(&answer);
    return r;
}

int mps_take_partition(const struct mps *mps, uint64_t lease, struct mps_limits *limits,
                       struct counter_failure *failure)
{
    struct owned owned[PARTITIONS];
    struct row gpu;
    size_t count = read_record(mps, owned);
    if (count == PARTITIONS || look_up(mps, "-", &gpu) < 0)
        return share_fail(failure, -EPROTO, "", "the MPS daemon of %s lists no partitions",
                          mps->uuid);
    unsigned left = (unsigned)atoi(gpu.chunks_free);
    unsigned all = left + (unsigned)atoi(gpu.chunks_used);
    unsigned chunks = (unsigned)(all * limits->sm_percent / 100 + 1e-6);
    chunks = chunks > 0 ? chunks : 1;
    if (chunks > left && left < all)
        return share_fail(
            failure, -EBUSY, "",
            "%g %% of %s are %u of its %u parts, and %u are left: a part is the least "
            "that a job can have",
            limits->sm_percent, mps->uuid, chunks, all, left);
    int r = add(mps, chunks, owned[count].partition, failure);
    if (r < 0)
        return r;
    owned[count].lease = lease;
    r = write_record(mps, owned, count + 1);
    if (r < 0)
        return share_fail(failure, r, "", "%s: %s", mps->folder, strerror(-r));
    memcpy(limits->partition, owned[count].partition, sizeof(limits->partition));
    return 0;
}
