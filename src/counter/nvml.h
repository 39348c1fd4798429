/* The nvml source from inside: what its files share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/ticker.h"
#include "counter/counter.h"
#include "counter/gpm.h"
#include "counter/nvml_library.h"

/* The longest list of processes that is asked for. */
enum { NVML_PROCESS_LIMIT = 1024 };

/* Before any time of the monotonic clock. */
#define NVML_LONG_AGO (-1e9)

/* Xid errors seen, under the source's lock. */
struct nvml_xid {
    enum absence absence; /* why they cannot be seen, or ABSENT_NO */
    unsigned long count;
    uint64_t last_code;
    double last_time; /* seconds since 1970 */
};

/* An Xid error in the kernel's log. */
struct nvml_kernel_xid {
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned gpu_instance; /* NVML_UNAVAILABLE_32 where it names none */
    unsigned compute_instance;
    unsigned code;
};

/* NVML's events and the kernel's log tell of the same errors, and each of some that the other
 * leaves out. An error that the one has told of is not counted again when the other does. */
enum nvml_xid_origin { NVML_XID_EVENT, NVML_XID_LOG };
enum { NVML_XID_MEMORY = 16 };

struct nvml_told_xid {
    enum nvml_xid_origin origin;
    uint64_t code;
    double time; /* seconds since 1970; 0 where it is told of by both, or empty */
};

/* PCIe rates where there is no GPM, under the source's lock. */
struct nvml_pcie {
    enum absence absence[2]; /* by enum nvml_pcie_counter */
    double rate[2];          /* bytes per second */
    double time;             /* when read, on the monotonic clock */
};

/* A counter of which the rate is wanted. */
struct nvml_rate {
    bool has_base;
    uint64_t base;
    double base_time;
};

/* What a process used of the SMs: the mean of the driver's samples. */
struct nvml_sm_share {
    pid_t pid;
    unsigned samples;
    double sum; /* of ratios */
};

struct nvml_device {
    nvml_handle handle; /* NULL where the driver did not give it */
    nvml_handle gpu;    /* the same, or the GPU of a MIG instance */
    unsigned gpu_index; /* of the GPU, as NVML numbers it */
    bool is_mig;
    unsigned gpu_instance;
    unsigned compute_instance;
    bool power_is_averaged; /* nvmlDeviceGetPowerUsage gives a mean over a second */
    bool unified;           /* its memory is the host's */
    bool described;         /* false where it was suspended or did not answer at the start */
    int power_state;        /* descriptor of the PCI device's runtime status, or -1 */

    struct gpm *gpm;
    enum absence gpm_absence; /* why there is none */

    struct nvml_pci pci; /* of a GPU; zero where not known */
    struct nvml_xid xid;
    struct nvml_told_xid told[NVML_XID_MEMORY]; /* of a GPU; the event thread's own */
    unsigned told_count;
    struct nvml_pcie pcie;
    atomic_bool is_read; /* the slow PCIe call is made for devices that someone looks at */

    /* The reading thread's own. */
    double read_at;             /* on the monotonic clock */
    double slow_at;             /* when what is read each second was read */
    double slowest_at;          /* when what is read each five seconds was read */
    struct nvml_rate nvlink[2]; /* by enum nvml_pcie_counter's directions */
    bool pcie_counted;          /* while GPM says 0, */
    uint32_t pcie_count;        /* what NVML counted, both ways */
    bool pcie_moves;            /* and whether that grew */
    pid_t known_pids[PROCESS_LIST_CAPACITY];
    bool known_servers[PROCESS_LIST_CAPACITY];
    size_t known_count;
    struct nvml_sm_share shares[PROCESS_LIST_CAPACITY];
    size_t share_count;
    unsigned char process_buffer[NVML_PROCESS_LIMIT * sizeof(struct nvml_process_v3)];
};

struct nvml {
    struct counter counter;
    struct nvml_library library;
    struct nvml_device *devices; /* beside counter.devices */
    unsigned gpu_count;          /* as the driver counted when it was opened */
    double (*now)(void);         /* the monotonic clock; tests have their own */
    bool follows_processes;      /* lists them with each read, and not each second */
    char root[128];              /* before /sys and /proc; tests have their own */

    pthread_mutex_t lock;
    nvml_event_set events; /* NULL where there is none */
    bool events_tried;     /* the event thread's own, as the following two */
    int kernel_log;        /* descriptor, or -1 */
    char kernel_text[8192];
    struct ticker event_ticker;
    struct ticker link_ticker;
};

static inline struct nvml *nvml_of(struct counter *counter)
{
    return (struct nvml *)counter;
}

/* Calls a function of the library, or says that it has none. */
#define NVML_CALL(nvml, name, ...)                                                                 \
    ((nvml)->library.call.name ? (nvml)->library.call.name(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

/* nvml_device.c: what stays true of a device. To identify a GPU does not wake it. */
void nvml_identify_gpu(struct nvml *nvml, nvml_handle handle, struct device *device);
void nvml_describe_gpu(struct nvml *nvml, struct nvml_device *slot, struct device *device);
void nvml_describe_instance(struct nvml *nvml, struct nvml_device *slot, const struct device *gpu,
                            struct device *device);
/* Fills DEVICE_CUDA_INDEX where the order is certain. */
void nvml_number_for_cuda(struct device *devices, size_t count);
/* The descriptor of the PCI device's runtime status, or -1. */
int nvml_open_power_state(const struct nvml *nvml, const struct nvml_pci *pci);
bool nvml_is_suspended(int power_state);

/* nvml_list.c: GPUs and their MIG instances. */
/* For threads other than the device's reader, which may find the device again meanwhile. */
nvml_handle nvml_handle_of(struct nvml *nvml, const struct nvml_device *slot);
MUST_CHECK int nvml_list(struct nvml *nvml);
void nvml_free_list(struct nvml *nvml);
bool nvml_list_changed(struct nvml *nvml);
MUST_CHECK int nvml_find_again(struct nvml *nvml, size_t index);

/* nvml_read.c */
MUST_CHECK int nvml_read_device(struct nvml *nvml, size_t index, struct sample *sample,
                                struct process_list *processes);

/* nvml_unified.c: the host's memory in bytes, as /proc/meminfo has it. False where it does not. */
bool nvml_host_memory(const struct nvml *nvml, struct nvml_memory_v2 *ret);

/* nvml_process.c. Returns the driver's code where no list could be had. */
nvml_return nvml_list_processes(struct nvml *nvml, struct nvml_device *slot,
                                struct process_list *processes);
/* Asks for the SM shares of the listed processes, `period` seconds back; it takes milliseconds. */
void nvml_read_sm_shares(struct nvml *nvml, struct nvml_device *slot, double period,
                         const struct process_list *processes);
/* Adds the shares last read. */
void nvml_fill_sm_shares(const struct nvml_device *slot, struct process_list *processes);

/* nvml_event.c */
void nvml_poll_events(void *nvml);
void nvml_fill_xid(struct nvml *nvml, const struct nvml_device *slot, struct sample *sample);

/* nvml_kernel_log.c */
void nvml_open_kernel_log(struct nvml *nvml);
/* Calls back for each Xid that has come since the last call. */
void nvml_read_kernel_log(struct nvml *nvml,
                          void (*each)(struct nvml *nvml, const struct nvml_kernel_xid *xid));

/* nvml_link.c */
double nvml_field_number(const struct nvml_field_value *value);
void nvml_poll_pcie(void *nvml);
void nvml_fill_pcie(struct nvml *nvml, const struct nvml_device *slot, double now,
                    struct sample *sample);
/* Withdraws GPM's PCIe rates where they are 0 and NVML counts bytes. `due`: ask NVML. */
void nvml_check_pcie(struct nvml *nvml, struct nvml_device *slot, bool due, struct sample *sample);
void nvml_read_nvlink(struct nvml *nvml, struct nvml_device *slot, double now,
                      struct sample *sample);
void nvml_describe_nvlink(struct nvml *nvml, nvml_handle handle, struct device *device);
