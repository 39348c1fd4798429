#include "gpu_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fake_proc.h"

enum { PROCESSES = 256, DEVICES = 16 };
static const uint64_t TOTAL = 150754820096, RESERVED = 644939776, BASE_USED = 0;

struct held {
    int pid;
    char kind[16];
    unsigned long long bytes;
    unsigned device;
};

static const char *folder(void)
{
    const char *path = getenv("FAKE_GPU");
    if (!path) {
        fputs("FAKE_GPU is not set\n", stderr);
        exit(99);
    }
    return path;
}

static FILE *open_file(const char *name, const char *mode)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder(), name);
    return fopen(path, mode);
}

static unsigned device_count(void)
{
    FILE *file = open_file("devices", "re");
    unsigned count = 0;
    char line[128];
    while (file && count < DEVICES && fgets(line, sizeof(line), file))
        count++;
    if (file)
        fclose(file);
    return count;
}

unsigned gpu_folder_device(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    FILE *file = visible ? open_file("devices", "re") : NULL;
    unsigned device = 0, place = 0;
    char line[128];
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(visible, line, strlen(line)) == 0)
            device = place;
        place++;
    }
    if (file)
        fclose(file);
    return device;
}

pid_t gpu_folder_pid(void)
{
    char path[512], self[32] = "";
    snprintf(path, sizeof(path), "%s/self", fake_proc());
    return readlink(path, self, sizeof(self) - 1) > 0 ? atoi(self) : getpid();
}

static unsigned read_held(struct held *held)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/process", folder());
    mkdir(path, 0700);
    DIR *entries = opendir(path);
    unsigned count = 0;
    struct dirent *entry;
    while (entries && count < PROCESSES && (entry = readdir(entries))) {
        struct held *one = &held[count];
        one->pid = atoi(entry->d_name);
        if (one->pid <= 0)
            continue;
        FILE *file = fdopen(openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC), "r");
        bool whole =
            file && fscanf(file, "%15s %llu %u", one->kind, &one->bytes, &one->device) == 3;
        if (file)
            fclose(file);
        if (!fake_proc_has(one->pid))
            unlinkat(dirfd(entries), entry->d_name, 0);
        else if (whole)
            count++;
    }
    if (entries)
        closedir(entries);
    return count;
}

static void write_device(FILE *out, const struct held *held, unsigned count, unsigned device)
{
    unsigned long long used = BASE_USED;
    fprintf(out, "device %u\nprocesses compute", device);
    for (unsigned i = 0; i < count; i++)
        if (held[i].device == device) {
            fprintf(out, " %d:%llu", held[i].pid, held[i].bytes);
            used += held[i].bytes;
        }
    fputs("\nprocesses mps", out);
    for (unsigned i = 0; i < count; i++)
        if (held[i].device == device && strcmp(held[i].kind, "mps") == 0)
            fprintf(out, " %d:%llu", held[i].pid, held[i].bytes);
    unsigned long long all = TOTAL - RESERVED;
    used = used < all ? used : all;
    fprintf(out, "\nnvmlDeviceGetMemoryInfo_v2 2 -> 0 %llu %llu %llu %llu\n",
            (unsigned long long)TOTAL, (unsigned long long)RESERVED, all - used, used);
}

static void copy_base(FILE *out)
{
    FILE *base = open_file("base", "re");
    char line[512];
    while (base && fgets(line, sizeof(line), base))
        fputs(line, out);
    if (base)
        fclose(base);
}

static void write_script(void)
{
    static struct held held[PROCESSES];
    unsigned count = read_held(held);
    FILE *out = open_file("nvml.new", "we");
    if (!out)
        return;
    copy_base(out);
    unsigned devices = device_count();
    for (unsigned device = 0; device < devices; device++)
        write_device(out, held, count, device);
    fflush(out);
    /* The kernel's own time of change is as coarse as its tick, and two changes can share it. */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    futimens(fileno(out), (struct timespec[]){now, now});
    fclose(out);
    char from[512], to[512];
    snprintf(from, sizeof(from), "%s/nvml.new", folder());
    snprintf(to, sizeof(to), "%s/nvml", folder());
    rename(from, to);
}

static int lock_folder(void)
{
    char lock[512];
    snprintf(lock, sizeof(lock), "%s/lock", folder());
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    flock(fd, LOCK_EX);
    return fd;
}

void gpu_folder_set(pid_t pid, const char *kind, uint64_t bytes, unsigned device)
{
    char path[512];
    int lock = lock_folder();
    snprintf(path, sizeof(path), "%s/process", folder());
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/process/%d", folder(), (int)pid);
    FILE *file = kind ? fopen(path, "we") : NULL;
    if (file) {
        fprintf(file, "%s %llu %u\n", kind, (unsigned long long)bytes, device);
        fclose(file);
    } else
        unlink(path);
    write_script();
    close(lock);
}

void gpu_folder_drop_client(pid_t pid)
{
    char path[512], kind[16] = "";
    int lock = lock_folder();
    snprintf(path, sizeof(path), "%s/process/%d", folder(), (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%15s", kind) == 1 && strcmp(kind, "mps") == 0)
        unlink(path);
    if (file)
        fclose(file);
    write_script();
    close(lock);
}
