#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/common.h"
#include "cmd/report.h"
#include "jobs/host.h"
#include "share/mps.h"
#include "version.h"

/* Of a live source: enough for rates and for counters that advance each 0.1 s; more frames while
 * counters are being started. */
static const double LIVE_INTERVAL = 0.2;
enum { LIVE_FRAMES = 3, MOST_LIVE_FRAMES = 20 };
static const double FRAME_PATIENCE = 3;

struct settings {
    struct watch_options watch;
    const char *format;
};

static const struct option_row options[] = {
    OPTION_FORMAT(struct settings, format, "text or json", "text|json"),
    OPTION_SOURCE(struct settings, watch),
    OPTION_GPU(struct settings, watch),
    OPTIONS_END,
};

/* What a device gave while it was watched. */
struct seen {
    enum reading_state state; /* at the end */
    int error;
    double age;
    double sessions, cpu;         /* of CUPTI's counters; NaN where not known */
    uint8_t absent[METRIC_COUNT]; /* ABSENT_NO where there was a value at any time */
};

/* A device that has never answered does not wait for a second sample. */
static enum absence absence_in(const struct reading *reading, int metric)
{
    enum absence absence = (enum absence)reading->sample.absent[metric];
    return absence == ABSENT_FIRST_SAMPLE && reading->state != READING_OK
               ? reading_absence(reading->state)
               : absence;
}

static void note_reading(const struct reading *reading, bool first, struct seen *seen)
{
    seen->state = reading->state;
    seen->error = reading->error;
    seen->age = reading->age;
    seen->sessions = sample_get(&reading->sample, METRIC_COUNTERS_SESSIONS, NAN);
    seen->cpu = sample_get(&reading->sample, METRIC_COUNTERS_CPU, NAN);
    for (int i = 0; i < METRIC_COUNT; i++)
        if (first || seen->absent[i] != ABSENT_NO)
            seen->absent[i] = (uint8_t)absence_in(reading, i);
}

static bool is_starting(const struct monitor *monitor, const struct seen *seen)
{
    for (size_t i = 0; i < monitor_count(monitor); i++)
        if (memchr(seen[i].absent, ABSENT_COUNTERS_STARTING, sizeof(seen[i].absent)))
            return true;
    return false;
}

static bool go_on(const struct monitor *monitor, const struct seen *seen, size_t frames)
{
    if (!monitor_counter(monitor)->ops->live || frames < LIVE_FRAMES)
        return true;
    return frames < MOST_LIVE_FRAMES && is_starting(monitor, seen);
}

/* A live source for a moment, a recording to its end. `seen` has a row for each device. */
static int watch(struct monitor *monitor, struct seen *seen)
{
    unsigned generation = monitor_generation(monitor);
    if (!monitor_counter(monitor)->ops->live && monitor_set_speed(monitor, 0) < 0)
        return -ENOTSUP;
    for (size_t frames = 0; go_on(monitor, seen, frames); frames++) {
        int r = monitor_wait(monitor, FRAME_PATIENCE);
        if (r == -ENODATA)
            return 0;
        if (r <= 0)
            return r == 0 ? -ETIMEDOUT : r;
        if (monitor_generation(monitor) != generation)
            return -ESTALE;
        for (size_t i = 0; i < monitor_count(monitor); i++)
            note_reading(monitor_reading(monitor, i), frames == 0, &seen[i]);
    }
    return 0;
}

static void check_machine(struct report *report, const struct host *host)
{
    struct utsname name;
    report_section(report, NULL, "This machine");
    report_add(report, FINDING_OK, "rooftop", "%s", ROOFTOP_VERSION);
    report_add(report, FINDING_OK, "kernel", "Linux %s, %s", host->kernel,
               uname(&name) == 0 ? name.machine : "unknown machine");
    if (host->wsl)
        report_add(report, FINDING_NOTE, "wsl",
                   "Windows Subsystem for Linux: the driver is that of Windows, and gives less");
    if (host->gvisor)
        report_add(report, FINDING_NOTE, "gvisor",
                   "gVisor answers for the kernel: processes on the GPU may be those of the host");
    if (host->container[0])
        report_add(report, FINDING_NOTE, "container", "%s%s", host->container,
                   host->sees_all_pids ? ""
                                       : ": processes of the host and of other containers are not "
                                         "visible");
}

/* Why there is no GPU, from what the machine shows without the driver's library. */
static void check_driver(struct report *report, const struct host *host)
{
    if (host->module_version[0])
        report_add(report, FINDING_OK, "module", "the kernel module is loaded, version %s",
                   host->module_version);
    else if (!host->wsl)
        report_advise(report, FINDING_MEND, "module",
                      host->pci_gpus > 0 ? "install NVIDIA's driver, or load it: modprobe nvidia"
                                         : "",
                      "no NVIDIA kernel module is loaded");
    if (host->pci_gpus > 0)
        report_add(report, FINDING_OK, "pci", "NVIDIA GPUs on the PCI bus: %u", host->pci_gpus);
    else if (!host->wsl)
        report_add(report, FINDING_MEND, "pci", "no NVIDIA GPU is on the PCI bus");
    if (host->device_file && !host->device_file_open)
        report_advise(report, FINDING_MEND, "device",
                      "add this user to the group that owns it, or run as root",
                      "/dev/nvidiactl may not be opened by this user");
    else if (!host->device_file && host->module_version[0])
        report_advise(report, FINDING_MEND, "device",
                      host->container[0]
                          ? "start the container with its GPUs, such as docker run --gpus all"
                          : "run nvidia-smi once as root: it makes the device files",
                      "/dev/nvidiactl does not exist");
}

static void report_failure(struct report *report, const struct host *host,
                           const struct counter_failure *failure)
{
    check_driver(report, host);
    report_section(report, NULL, "Source");
    report_advise(report, FINDING_MEND, "source", failure->advice, "%s", failure->reason);
    report_section(report, NULL, "What works here");
    report_add(report, FINDING_OK, "replay",
               "a recording of another machine: rooftop stat --source replay:FILE");
    report_add(report, FINDING_OK, "sim",
               "a made-up machine (docs/SIM.md): rooftop stat --source sim:FILE");
}

static void check_source(struct report *report, const struct monitor *monitor)
{
    const struct counter *counter = monitor_counter(monitor);
    report_section(report, NULL, "Source");
    report_add(report, FINDING_OK, "source", "%s: %s%s%s", counter->ops->name, counter->library,
               counter->library_version[0] ? ", version " : "", counter->library_version);
    if (counter->driver_version[0])
        report_add(report, FINDING_OK, "driver", "%s", counter->driver_version);
    const char *cuda = monitor_cuda_version(monitor);
    if (cuda[0])
        report_add(report, FINDING_OK, "cuda", "the driver serves CUDA %s", cuda);
    if (!counter->ops->live)
        report_add(report, FINDING_OK, "recording", "%.1f s, %zu marks",
                   counter->end - counter->begin, counter->mark_count);
}

static void check_state(struct report *report, const struct seen *seen)
{
    const struct absence_info *info = absence_info(reading_absence(seen->state));
    if (seen->state == READING_OK)
        report_add(report, FINDING_OK, "state", "it answers");
    else if (seen->state == READING_FAILED)
        report_advise(report, FINDING_MEND, "state", info->advice, "for %.1f s: %s (%s)", seen->age,
                      info->reason, strerror(-seen->error));
    else
        report_advise(report, FINDING_MEND, "state", info->advice, "for %.1f s: %s", seen->age,
                      info->reason);
}

/* What is advised elsewhere in few words, or by pointing here. */
static void advise_on(enum absence absence, const struct host *host, char *ret, size_t size)
{
    switch (absence) {
    case ABSENT_COUNTERS_FOR_ADMIN:
        host_advise_permission(host, ret, size);
        break;
    case ABSENT_COUNTERS_HELD:
        host_find_profilers("", ret, size);
        break;
    case ABSENT_DRIVER_ERROR:
    case ABSENT_COUNTERS_FAILED:
    case ABSENT_CUDA_FAILED:
        snprintf(ret, size, "see the kernel log (dmesg) for lines with NVRM");
        break;
    default:
        snprintf(ret, size, "%s", absence_info(absence)->advice);
    }
}

static void check_counters(struct report *report, const struct seen *seen, const struct host *host)
{
    enum absence absence = (enum absence)seen->absent[METRIC_SM_ACTIVE];
    if (absence == ABSENT_NO) {
        report_add(report, FINDING_OK, "counters", "hardware counters are read");
        return;
    }
    char advice[sizeof(((struct finding *)0)->advice)] = "";
    if (host)
        advise_on(absence, host, advice, sizeof(advice));
    report_advise(report, FINDING_NOTE, "counters", advice, "no hardware counters: %s",
                  absence_info(absence)->reason);
}

/* The reason says what it comes down to; these are the library's own words, and name its file. */
static void check_failure_of_counters(struct report *report, const struct monitor *monitor,
                                      size_t device)
{
    char words[sizeof(((struct finding *)0)->text) / 2];
    monitor_tell_failure(monitor, device, words, sizeof(words));
    if (words[0])
        report_add(report, FINDING_NOTE, "counters", "CUPTI's counters: %s", words);
}

static void check_cost_of_counters(struct report *report, const struct seen *seen)
{
    if (seen->sessions > 0 && isfinite(seen->cpu))
        report_add(report, FINDING_OK, "counters",
                   "CUPTI's counters have been set up %.0f time%s, for %.0f ms of a core in all",
                   seen->sessions, seen->sessions == 1 ? "" : "s", 1000 * seen->cpu);
}

static void check_compute_mode(struct report *report, const struct device *device, bool live)
{
    char advice[160] = "";
    if (live)
        snprintf(advice, sizeof(advice), "as root: nvidia-smi -i %s -c DEFAULT",
                 device->text[DEVICE_PCI_ADDRESS]);
    switch ((int)device_number(device, DEVICE_COMPUTE_MODE, COMPUTE_SHARED)) {
    case COMPUTE_PROHIBITED:
        report_advise(report, FINDING_MEND, "compute_mode", advice,
                      "its compute mode is PROHIBITED: no program can use CUDA on it, and "
                      "`rooftop run` leaves it out");
        break;
    case COMPUTE_EXCLUSIVE_THREAD:
    case COMPUTE_EXCLUSIVE_PROCESS:
        report_advise(
            report, FINDING_NOTE, "compute_mode", advice,
            "its compute mode is EXCLUSIVE_PROCESS: one process at a time can use CUDA on "
            "it, or the clients of one MPS server (`rooftop run --share`); another one "
            "hears that the device is busy or unavailable");
        break;
    default:
        break;
    }
}

/* `host` is NULL for a recording: there is nothing to mend in it. */
static void check_device(struct report *report, const struct monitor *monitor, size_t i,
                         const struct seen *seen, const struct host *host)
{
    const struct device *device = monitor_device(monitor, i);
    if (device_is_mig(device))
        report_section(report, device, "GPU %.0f, MIG instance %u: %s",
                       device->number[DEVICE_PARENT], device->index, device->text[DEVICE_NAME]);
    else
        report_section(report, device, "GPU %u: %s", device->index, device->text[DEVICE_NAME]);
    check_state(report, seen);
    check_counters(report, seen, host);
    check_failure_of_counters(report, monitor, i);
    check_cost_of_counters(report, seen);
    if (host && device_number(device, DEVICE_PERSISTENCE, 1) == 0)
        report_advise(report, FINDING_MEND, "persistence",
                      "run nvidia-persistenced, or as root: nvidia-smi -pm 1",
                      "persistence mode is off: the driver stops when nobody uses the GPU, and the "
                      "next start waits for it");
    check_compute_mode(report, device, host != NULL);
    if (device_number(device, DEVICE_MIG_ENABLED, 0) == 1)
        report_add(report, FINDING_NOTE, "mig", "MIG is on: jobs run on its instances");
    if (device_number(device, DEVICE_UNIFIED_MEMORY, 0) == 1)
        report_add(report, FINDING_NOTE, "memory", "it shares the memory of the host");
}

/* Somebody can mend it, here. */
static bool is_to_mend(enum absence absence)
{
    switch (absence) {
    case ABSENT_NO_PERMISSION:
    case ABSENT_COUNTERS_FOR_ADMIN:
    case ABSENT_CUDA_FAILED:
    case ABSENT_COUNTERS_STUCK:
    case ABSENT_DRIVER_ERROR:
    case ABSENT_STALE:
    case ABSENT_LOST:
        return true;
    default:
        return false;
    }
}

/* `host` is NULL for a recording: it stays as it is, and there is no advice. */
static void check_metrics(struct report *report, const struct seen *seen, const struct host *host)
{
    size_t count[ABSENCE_COUNT] = {0};
    for (int i = 0; i < METRIC_COUNT; i++)
        count[seen->absent[i]]++;
    report_add(report, FINDING_OK, "known", "%zu of %d metrics have a value", count[ABSENT_NO],
               METRIC_COUNT);
    for (int i = ABSENT_NO + 1; i < ABSENCE_COUNT; i++) {
        enum absence absence = (enum absence)i;
        if (count[i] == 0)
            continue;
        struct finding *finding =
            report_add(report, is_to_mend(absence) ? FINDING_MEND : FINDING_NOTE, "missing", "%s",
                       absence_info(absence)->reason);
        if (!finding)
            return;
        if (host)
            advise_on(absence, host, finding->advice, sizeof(finding->advice));
        finding->absent = seen->absent;
        finding->absence = absence;
    }
}

static bool same_absences(const struct seen *a, const struct seen *b)
{
    return memcmp(a->absent, b->absent, sizeof(a->absent)) == 0;
}

/* Devices that lack the same are told of together. */
static void check_all_metrics(struct report *report, const struct monitor *monitor,
                              const struct seen *seen, const struct host *host)
{
    for (size_t i = 0; i < monitor_count(monitor); i++) {
        bool told = false;
        for (size_t k = 0; k < i; k++)
            told |= same_absences(&seen[i], &seen[k]);
        if (told)
            continue;
        struct strbuf names = {0};
        for (size_t k = i; k < monitor_count(monitor); k++) {
            const struct device *device = monitor_device(monitor, k);
            if (!same_absences(&seen[i], &seen[k]))
                continue;
            char place[DEVICE_PLACE_SIZE];
            strbuf_puts(&names, k > i ? ", " : "");
            strbuf_puts(&names, device_place(device, place));
        }
        report_section(report, NULL, "Metrics of GPU %s", strbuf_text(&names));
        strbuf_free(&names);
        check_metrics(report, &seen[i], host);
    }
}

static void check_sharing(struct report *report)
{
    struct mps_program program;
    report_section(report, NULL, "Sharing");
    if (!mps_find_program(&program)) {
        report_advise(report, FINDING_NOTE, "mps",
                      "it comes with NVIDIA's driver (Debian: nvidia-cuda-mps)",
                      "there is no nvidia-cuda-mps-control here: a job has a GPU to itself");
        return;
    }
    report_add(report, FINDING_OK, "mps", "%s, version %d: the SMs of a slot are %s", program.path,
               program.version, program.static_partitions ? "a static partition" : "a percentage");
    if (!program.shared_memory)
        report_advise(report, FINDING_NOTE, "shm",
                      "in a container, mount the host's (docker: -v /dev/shm:/dev/shm)",
                      "/dev/shm cannot be written, and MPS needs it");
}

/* `host` is NULL for a recording. */
static int report_devices(const struct command *command, struct report *report,
                          struct monitor *monitor, struct seen *seen, const struct host *host)
{
    check_source(report, monitor);
    int r = watch(monitor, seen);
    if (r < 0)
        return run_error(command, "the GPUs could not be watched: %s", strerror(-r));
    for (size_t i = 0; i < monitor_count(monitor); i++)
        check_device(report, monitor, i, &seen[i], host);
    check_all_metrics(report, monitor, seen, host);
    if (host)
        check_sharing(report);
    return report_has_mend(report) ? EXIT_FAILED : EXIT_DONE;
}

static int print(const struct command *command, const struct settings *settings,
                 const struct report *report, int code)
{
    struct strbuf out = {0};
    if (settings->format[0] == 'j')
        report_write_json(report, code, &out);
    else
        report_write_text(report, &out);
    out.failed |= report->failed;
    int printed = output_all(command, &out);
    strbuf_free(&out);
    return printed == EXIT_DONE ? code : printed;
}

static int examine(const struct command *command, const struct settings *settings,
                   struct report *report)
{
    struct host host;
    struct monitor *monitor;
    struct counter_failure failure;
    struct monitor_config config = {
        .source = settings->watch.source, .gpus = settings->watch.gpus, .interval = LIVE_INTERVAL};
    int r = monitor_open(&monitor, &config, &failure);
    if (r < 0 && watch_exit_code(r) != EXIT_NO_GPU)
        return watch_failed(command, r, &failure);
    bool live = r < 0 || monitor_counter(monitor)->ops->live;
    host_read("", &host);
    if (live)
        check_machine(report, &host);
    if (r < 0) {
        report_failure(report, &host, &failure);
        return print(command, settings, report, EXIT_NO_GPU);
    }
    struct seen *seen = calloc(monitor_count(monitor) + 1, sizeof(*seen));
    int code = seen ? report_devices(command, report, monitor, seen, live ? &host : NULL)
                    : run_error(command, "%s", strerror(ENOMEM));
    code = print(command, settings, report, code);
    free(seen);
    monitor_close(monitor);
    return code;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct settings settings = {.format = "text"};
    int result = options_parse_all(command, argc, argv, &settings);
    if (result != OPTIONS_GO)
        return result;
    struct report report = {0};
    int code = examine(command, &settings, &report);
    report_free(&report);
    return code;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Say what works here, what is missing, why, and what to do",
    .operands = "",
    .options = options,
    .more = "It ends with 0 where all is well, 1 where there is something to mend, and 3 where\n"
            "there is no GPU or no permission.\n\n"
            "  rooftop doctor\n"
            "  rooftop doctor --format json | jq -r '.sections[].findings[].advice // empty'\n",
    .run = run,
};
