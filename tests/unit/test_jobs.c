#include "jobs/describe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "jobs/host.h"
#include "jobs/proc.h"
#include "made_root.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void put_stat(const char *name, const char *comm, unsigned long long ticks)
{
    char text[256];
    snprintf(text, sizeof(text), "7 (%s) S 5 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 %llu 9 9\n",
             comm, ticks);
    put_text(name, text);
}

static void reads_a_process(void **state)
{
    (void)state;
    put_text("proc/stat", "cpu  1 2 3\nintr 9 8\nbtime 1700000000\n");
    put_stat("proc/7/stat", "a) (b", 50 * (unsigned long long)sysconf(_SC_CLK_TCK));
    put_text("proc/7/status", "Name:\tx\nUid:\t1\t4000000001\t1\t1\nGid:\t0\n");
    static const char cmdline[] = "python\0-c\0print(\x1b[1m\xff\n\0\0";
    put_bytes("proc/7/cmdline", cmdline, sizeof(cmdline) - 1);
    put_text("proc/7/cgroup", "3:cpu:/\n0::/system.slice/docker-" ID ".scope\n");

    struct process_description process;
    assert_true(jobs_read_process(root, 7, &process));
    assert_float_equal(process.start_time, 1700000050, 1e-6);
    assert_int_equal(process.parent, 5);
    assert_string_equal(process.user, "4000000001");
    assert_string_equal(process.command, "python -c print(\xEF\xBF\xBD[1m\xEF\xBF\xBD ");
    assert_false(process.ending);
    assert_string_equal(process.container, "docker:" ID);
    assert_string_equal(process.cgroup, "/system.slice/docker-" ID ".scope");
    assert_false(process.outside);
}

static void takes_the_name_where_there_are_no_arguments(void **state)
{
    (void)state;
    put_stat("proc/8/stat", "nv_queue\xff", 1);
    put_text("proc/8/cmdline", "");
    struct process_description process;
    assert_true(jobs_read_process(root, 8, &process));
    assert_string_equal(process.command, "[nv_queue\xEF\xBF\xBD]");
    assert_true(process.ending);
}

static void an_unreadable_process_is_still_there(void **state)
{
    (void)state;
    put_text("proc/9/other", "");
    struct process_description process;
    assert_true(jobs_read_process(root, 9, &process));
    assert_float_equal(process.start_time, 0, 0);
    assert_string_equal(process.command, "");
    assert_false(process.outside);
    assert_false(jobs_read_process(root, 10, &process));
    assert_false(jobs_read_process(root, -1, &process));
}

static void cuts_a_long_command_between_characters(void **state)
{
    (void)state;
    char cmdline[4096];
    for (size_t i = 0; i + 1 < sizeof(cmdline); i += 2)
        memcpy(cmdline + i, "\xC3\xA9", 2);
    put_stat("proc/11/stat", "x", 1);
    put_bytes("proc/11/cmdline", cmdline, sizeof(cmdline));
    struct process_description process;
    assert_true(jobs_read_process(root, 11, &process));
    assert_int_equal(strlen(process.command), 510);
    assert_int_equal((unsigned char)process.command[509], 0xA9);
}

static void a_pid_of_the_host_is_not_a_process_here(void **state)
{
    (void)state;
    put_stat("proc/12/stat", "innocent", 1);
    put_stat("proc/13/stat", "trainer", 1);
    put_link("proc/12/fd/0", "/dev/null");
    put_link("proc/13/fd/4", "/dev/nvidia0");
    put_link("proc/self/ns/pid", "pid:[4026531836]");
    put_text("dev/nvidiactl", "");
    struct process_description process;
    assert_true(jobs_read_process(root, 12, &process));
    put_link("proc/self/ns/pid", "pid:[4026532000]");
    assert_false(jobs_read_process(root, 12, &process));
    assert_true(jobs_read_process(root, 13, &process));
    put_link("proc/self/ns/pid", "pid:[4026531836]");
}

static void refuses_broken_files(void **state)
{
    (void)state;
    struct proc_identity identity;
    const char *const wrong[] = {"",
                                 "7",
                                 "7 (a",
                                 "7 )a( S 1",
                                 "7 (a) S 1 2 3",
                                 "7 (a) S 1 7 7 0 -1 4 1 0 0 0 1 2 0 0 20 0 1 0 -5 9"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(proc_parse_stat(wrong[i], &identity), -EINVAL);
    uid_t user;
    assert_int_equal(proc_parse_user("Uid:\t5", &user), -EINVAL);
    assert_int_equal(proc_parse_user("Name:\tUid:\t1\t2\n", &user), -EINVAL);
    assert_int_equal(proc_parse_user("Uid:\t1\t99999999999\t1\t1\n", &user), -EINVAL);
    double boot;
    assert_int_equal(proc_parse_boot_time("btime x", &boot), -EINVAL);
}

static void finds_containers_and_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *container; /* NULL: none */
    } cases[] = {
        {"/", NULL},
        {"", NULL},
        {"/user.slice/user-1000.slice/session-3.scope", NULL},
        {"/docker/" ID, "docker:" ID},
        {"/docker/" ID "/init.scope", "docker:" ID},
        {"/docker/nohex", NULL},
        {"/kubepods/besteffort/pod1-2/" ID, "kubernetes:" ID},
        {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", "kubernetes:" ID},
        {"/kubepods.slice/crio-" ID ".scope", "kubernetes:" ID},
        {"/machine.slice/libpod-" ID ".scope/container", "podman:" ID},
        {"/machine.slice/libpod-conmon-" ID ".scope", NULL},
        {"/default/" ID, "containerd:" ID},
        {"/lxc.payload.web/init.scope", "lxc:web"},
        {"/lxc/web", "lxc:web"},
        {"/machine.slice/systemd-nspawn@deb.service/payload", "nspawn:deb"},
        {"/machine.slice/machine-deb.scope", "machine:deb"},
        {"/slurm/uid_1000/job_123/step_0/task_0", "slurm:123"},
        {"/system.slice/slurmstepd.scope/job_45/step_batch/user/task_0", "slurm:45"},
        {"/elsewhere/job_123", NULL},
        {"/htcondor/condor_var_lib_condor_execute_slot1_2@node", "htcondor:slot1_2@node"},
        {"/slurm/uid_1/job_7/step_0/docker-" ID ".scope", "docker:" ID},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char container[96] = "untouched";
        bool found = proc_find_container(cases[i].path, container, sizeof(container));
        assert_string_equal(container, found ? cases[i].container : "untouched");
        assert_int_equal(found, cases[i].container != NULL);
    }
}

static void takes_the_cgroup_line_that_tells_most(void **state)
{
    (void)state;
    char path[256];
    char container[96];
    proc_parse_cgroup("9:name=systemd:/user.slice\n4:memory:/docker/" ID "\n0::/\n", path,
                      sizeof(path), container, sizeof(container));
    assert_string_equal(path, "/docker/" ID);
    assert_string_equal(container, "docker:" ID);
    proc_parse_cgroup("3:cpu:/user.slice/a:b\n0::/\n", path, sizeof(path), container,
                      sizeof(container));
    assert_string_equal(path, "/user.slice/a:b");
    assert_string_equal(container, "");
    proc_parse_cgroup("nonsense\n:\n\n:::", path, sizeof(path), container, sizeof(container));
    assert_string_equal(container, "");
}

static const char *command_at(struct jobs_cache *cache, double now)
{
    return jobs_cache_describe_at(cache, 20, now)->command;
}

static void the_cache_sees_another_process_with_the_pid(void **state)
{
    (void)state;
    struct jobs_cache *cache;
    assert_int_equal(jobs_cache_new(&cache, root), 0);
    put_stat("proc/20/stat", "sh", 100);
    put_bytes("proc/20/cmdline", "first", 5);
    assert_string_equal(command_at(cache, 10), "first");

    put_bytes("proc/20/cmdline", "second", 6);
    assert_string_equal(command_at(cache, 12), "first"); /* the same process: not read again */
    put_stat("proc/20/stat", "sh", 200);
    assert_string_equal(command_at(cache, 12.5), "first"); /* believed for a second */
    assert_string_equal(command_at(cache, 13), "second");

    put_bytes("proc/20/cmdline", "third", 5);
    put_stat("proc/20/stat", "python", 200); /* it has started another program */
    assert_string_equal(command_at(cache, 14), "third");
    jobs_cache_free(cache);
}

static void the_cache_forgets_what_has_ended(void **state)
{
    (void)state;
    struct jobs_cache *cache;
    assert_int_equal(jobs_cache_new(&cache, root), 0);
    put_stat("proc/21/stat", "x", 100);
    assert_false(jobs_cache_describe_at(cache, 21, 5)->outside);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/proc/21/stat", root);
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    const struct process_description *process = jobs_cache_describe_at(cache, 21, 7);
    assert_true(process->outside);
    assert_string_equal(process->command, "");
    jobs_cache_free(cache);
}

static void a_full_cache_keeps_what_is_in_use(void **state)
{
    (void)state;
    struct jobs_cache *cache;
    assert_int_equal(jobs_cache_new(&cache, root), 0);
    put_stat("proc/22/stat", "x", 100);
    put_bytes("proc/22/cmdline", "kept", 4);
    assert_string_equal(jobs_cache_describe_at(cache, 22, 1)->command, "kept");
    put_bytes("proc/22/cmdline", "read again", 10);
    for (pid_t pid = 0; pid < 5000; pid++) {
        assert_string_equal(jobs_cache_describe_at(cache, 22, 3 + pid)->command, "kept");
        assert_true(jobs_cache_describe_at(cache, 100000 + pid, 3 + pid)->outside);
    }
    jobs_cache_free(cache);
}

static void tells_a_bare_host(void **state)
{
    (void)state;
    put_text("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
    put_text("proc/version", "Linux version 6.1.0-28-amd64 (debian) #1 SMP\n");
    put_text("proc/self/cgroup", "0::/user.slice\n");
    put_text("sys/bus/pci/devices/0000:41:00.0/vendor", "0x10de\n");
    put_text("sys/bus/pci/devices/0000:41:00.0/class", "0x030200\n");
    put_text("sys/bus/pci/devices/0000:42:00.0/vendor", "0x10de\n");
    put_text("sys/bus/pci/devices/0000:42:00.0/class", "0x068000\n"); /* NVSwitch */
    put_text("sys/bus/pci/devices/0000:01:00.0/vendor", "0x1a03\n");
    put_text("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
    put_text("sys/module/nvidia/version", "580.159.04\n");
    put_text("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
    struct host host;
    host_read(root, &host);
    assert_string_equal(host.kernel, "6.1.0-28-amd64");
    assert_false(host.wsl);
    assert_false(host.gvisor);
    assert_string_equal(host.container, "");
    assert_int_equal(host.pci_gpus, 1);
    assert_string_equal(host.module_version, "580.159.04");
    assert_true(host.counters_for_root);
    assert_false(host.administrator);
    put_text("proc/self/status",
             "Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000000400\n");
    host_read(root, &host);
    assert_false(host.administrator);
    put_text("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    host_read(root, &host);
    assert_true(host.administrator);
}

static void advises_those_who_get_no_counters(void **state)
{
    (void)state;
    static const struct {
        struct host host;
        const char *advice, *not_advised;
    } cases[] = {
        {{.counters_for_root = true}, "run as root, or open the counters to all", "Windows"},
        {{.administrator = true}, "its host must allow profiling", "modprobe"},
        {{.container = "docker"}, "start the container with --cap-add=SYS_ADMIN", "modprobe"},
        {{.container = "docker", .counters_for_root = true}, "NVreg_RestrictProfiling", "Windows"},
        {{.wsl = true, .counters_for_root = true}, "in Windows: ", "modprobe"},
    };
    char advice[256];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        host_advise_permission(&cases[i].host, advice, sizeof(advice));
        assert_true(strlen(advice) < sizeof(advice) - 1);
        assert_non_null(strstr(advice, cases[i].advice));
        assert_null(strstr(advice, cases[i].not_advised));
    }
}

static void remove_file(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(unlink(path), 0);
}

static void tells_sandboxes_and_containers(void **state)
{
    (void)state;
    struct host host;
    put_text("proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
    host_read(root, &host);
    assert_true(host.gvisor);
    assert_false(host.wsl);
    put_text("dev/dxg", "");
    host_read(root, &host);
    assert_true(host.wsl);
    remove_file("dev/dxg");
    put_text("proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
    host_read(root, &host);
    assert_true(host.wsl);

    put_link("proc/self/ns/pid", "pid:[4026531836]");
    host_read(root, &host);
    assert_true(host.sees_all_pids);
    put_link("proc/self/ns/pid", "pid:[4026532000]");
    put_text("run/.containerenv", "");
    host_read(root, &host);
    assert_string_equal(host.container, "podman");
    assert_false(host.sees_all_pids);
    put_text(".dockerenv", "");
    host_read(root, &host);
    assert_string_equal(host.container, "docker");
    put_text("run/systemd/container", "systemd-nspawn\n");
    host_read(root, &host);
    assert_string_equal(host.container, "systemd-nspawn");
    put_text("proc/self/cgroup", "0::/kubepods/pod1/" ID "\n");
    host_read(root, &host);
    assert_string_equal(host.container, "kubernetes:" ID);
}

static void names_who_may_hold_the_counters(void **state)
{
    (void)state;
    char text[64];
    host_find_profilers(root, text, sizeof(text));
    assert_string_equal(text, "");
    put_text("proc/31/comm", "nv-hostengine\n");
    put_text("proc/32/comm", "python\n");
    host_find_profilers(root, text, sizeof(text));
    assert_string_equal(text, "it may be nv-hostengine (PID 31)");
    char small[12];
    host_find_profilers(root, small, sizeof(small));
    assert_string_equal(small, "it may be n");

    put_text("proc/32/maps", "7f00-7f01 r-xp 0 00:01 1 /opt/lib/libcupti.so.13\n");
    host_find_profilers(root, text, sizeof(text));
    assert_null(strstr(text, "python"));
    put_text("proc/32/maps", "7f00-7f01 r-xp 0 00:01 1 /opt/lib/libnvperf_target.so\n");
    host_find_profilers(root, text, sizeof(text));
    assert_non_null(strstr(text, "python (PID 32)"));
    assert_non_null(strstr(text, "nv-hostengine (PID 31)"));
}

static void does_not_name_its_own_helper(void **state)
{
    (void)state;
    char stat[64];
    char text[256];
    put_text("proc/33/comm", "rooftop-counter\n");
    put_text("proc/33/stat", "33 (rooftop-counter) S 1 33 33 0\n");
    host_find_profilers(root, text, sizeof(text));
    assert_non_null(strstr(text, "rooftop-counter (PID 33)"));
    snprintf(stat, sizeof(stat), "33 (rooftop-counter) S %d 33 33 0\n", (int)getpid());
    put_text("proc/33/stat", stat);
    host_find_profilers(root, text, sizeof(text));
    assert_null(strstr(text, "rooftop-counter"));
}

static void an_empty_root_is_no_crash(void **state)
{
    (void)state;
    struct host host;
    host_read("/not/there", &host);
    assert_string_equal(host.kernel, "");
    assert_int_equal(host.pci_gpus, 0);
    assert_false(host.device_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_process),
        cmocka_unit_test(takes_the_name_where_there_are_no_arguments),
        cmocka_unit_test(an_unreadable_process_is_still_there),
        cmocka_unit_test(cuts_a_long_command_between_characters),
        cmocka_unit_test(a_pid_of_the_host_is_not_a_process_here),
        cmocka_unit_test(refuses_broken_files),
        cmocka_unit_test(finds_containers_and_jobs),
        cmocka_unit_test(takes_the_cgroup_line_that_tells_most),
        cmocka_unit_test(the_cache_sees_another_process_with_the_pid),
        cmocka_unit_test(the_cache_forgets_what_has_ended),
        cmocka_unit_test(a_full_cache_keeps_what_is_in_use),
        cmocka_unit_test(tells_a_bare_host),
        cmocka_unit_test(advises_those_who_get_no_counters),
        cmocka_unit_test(tells_sandboxes_and_containers),
        cmocka_unit_test(names_who_may_hold_the_counters),
        cmocka_unit_test(does_not_name_its_own_helper),
        cmocka_unit_test(an_empty_root_is_no_crash),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
