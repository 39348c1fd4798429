/* What kind of place this is, as far as GPUs care. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct host {
    char kernel[96];    /* release, or "" */
    bool wsl;           /* Windows Subsystem for Linux: the driver is that of Windows */
    bool gvisor;        /* a sandbox that answers for the kernel */
    char container[96]; /* "docker", "kubernetes:ID" and so on, or "" */
    bool sees_all_pids; /* the PIDs here are those of the host */

    unsigned pci_gpus;       /* NVIDIA GPUs on the PCI bus */
    char module_version[64]; /* of the kernel module that is loaded, or "" */
    bool device_file;        /* /dev/nvidiactl exists */
    bool device_file_open;   /* this user may read and write it */
    bool counters_for_root;  /* NVIDIA's module option: CUPTI's counters are an administrator's */
    bool administrator;      /* this process is one: it has CAP_SYS_ADMIN */
};

/* Reads /proc, /sys, /dev and /run below `root` ("" for the real ones). */
void host_read(const char *root, struct host *ret);

/* What to do where the driver keeps CUPTI's counters for administrators. */
void host_advise_permission(const struct host *host, char *ret, size_t size);

/* Names the programs below `root` that are known to hold a GPU's counters, such as
 * "it may be nv-hostengine (PID 123)"; "" where none of them runs. */
void host_find_profilers(const char *root, char *ret, size_t size);
