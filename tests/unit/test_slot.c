/* The table of leases: who gets what, and what crashes leave. */
#include "share/slot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmocka_test.h"

static const uint64_t GIB = 1ULL << 30;

struct stage {
    char folder[64];
    struct slot_table *table;
    struct slot_gpu gpus[2];
    struct counter_failure failure;
};

static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    /* In memory, as /run is: on a disk most of the time goes into its inodes. */
    strcpy(stage->folder, "/dev/shm/slot-XXXXXX");
    if (!mkdtemp(stage->folder)) {
        strcpy(stage->folder, "/tmp/slot-XXXXXX");
        assert_non_null(mkdtemp(stage->folder));
    }
    assert_int_equal(slot_open(&stage->table, stage->folder, &stage->failure), 0);
    for (size_t i = 0; i < 2; i++) {
        snprintf(stage->gpus[i].uuid, sizeof(stage->gpus[i].uuid), "GPU-%zu", i);
        stage->gpus[i].memory_bytes = 100 * GIB;
    }
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    slot_close(stage->table);
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", stage->folder);
    assert_int_equal(system(command), 0);
    free(stage);
    return 0;
}

static struct slot_request shared(double sm, uint64_t gib)
{
    return (struct slot_request){
        .mode = SLOT_SHARED,
        .gpu_count = 1,
        .sm_percent = sm,
        .memory_bytes = gib * GIB,
        .name = "a job",
    };
}

static struct slot_request whole(unsigned count)
{
    return (struct slot_request){.mode = SLOT_EXCLUSIVE, .gpu_count = count, .name = "whole"};
}

static int take(struct stage *stage, const struct slot_request *request, struct slot_grant *grant)
{
    return slot_take(stage->table, request, stage->gpus, 2, grant, &stage->failure);
}

static size_t count_leases(struct stage *stage)
{
    struct slot_lease *leases;
    size_t count;
    assert_int_equal(slot_list(stage->table, &leases, &count), 0);
    free(leases);
    return count;
}

static void shared_jobs_fill_one_gpu_before_the_next(void **state)
{
    struct stage *stage = *state;
    struct slot_grant grants[5];
    struct slot_request quarter = shared(25, 20);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(take(stage, &quarter, &grants[i]), 0);
        assert_int_equal(grants[i].gpus[0], grants[0].gpus[0]);
    }
    assert_int_equal(take(stage, &quarter, &grants[4]), 0);
    assert_int_not_equal(grants[4].gpus[0], grants[0].gpus[0]);
    assert_int_equal(count_leases(stage), 5);
}

static void every_lease_has_a_number_of_its_own(void **state)
{
    struct stage *stage = *state;
    struct slot_grant first, second, third;
    struct slot_request half = shared(50, 50);
    assert_int_equal(take(stage, &half, &first), 0);
    assert_int_equal(take(stage, &half, &second), 0);
    assert_int_not_equal(first.id, second.id);
    /* what ends leaves the others as they are, and its number to nobody */
    assert_int_equal(slot_release(stage->table, first.id), 0);
    assert_int_equal(take(stage, &half, &third), 0);
    assert_int_not_equal(third.id, second.id);
    assert_int_equal(slot_release(stage->table, second.id), 0);
    assert_int_equal(count_leases(stage), 1);
}

static void neither_sms_nor_memory_are_given_twice(void **state)
{
    struct stage *stage = *state;
    struct slot_grant grant;
    struct slot_request most = shared(60, 60);
    assert_int_equal(take(stage, &most, &grant), 0);
    assert_int_equal(take(stage, &most, &grant), 0);
    assert_int_equal(take(stage, &most, &grant), -EBUSY);
    struct slot_request memory = shared(10, 41);
    assert_int_equal(take(stage, &memory, &grant), -EBUSY);
    assert_non_null(strstr(stage->failure.reason, "40.00 GiB left"));
    struct slot_request sms = shared(41, 10);
    assert_int_equal(take(stage, &sms, &grant), -EBUSY);
    assert_non_null(strstr(stage->failure.reason, "40 % of its SMs left"));
    struct slot_request rest = shared(40, 40);
    assert_int_equal(take(stage, &rest, &grant), 0);
    struct slot_request giant = shared(1, 101);
    assert_int_equal(take(stage, &giant, &grant), -E2BIG);
}

static void memory_is_summed_over_all_jobs(void **state)
{
    struct stage *stage = *state;
    struct slot_grant grant;
    struct slot_request part = shared(10, 40);
    for (int i = 0; i < 4; i++)
        assert_int_equal(take(stage, &part, &grant), 0);
    assert_int_equal(take(stage, &part, &grant), -EBUSY);
    assert_non_null(strstr(stage->failure.reason, "20.00 GiB left"));
}

static void an_exclusive_job_is_alone(void **state)
{
    struct stage *stage = *state;
    struct slot_grant grant, second;
    struct slot_request one = whole(1), two = whole(2), three = whole(3), part = shared(10, 1);
    assert_int_equal(take(stage, &three, &grant), -E2BIG);
    assert_int_equal(take(stage, &part, &grant), 0);
    assert_int_equal(take(stage, &two, &second), -EBUSY);
    assert_non_null(strstr(stage->failure.reason, "a job"));
    assert_int_equal(take(stage, &one, &second), 0);
    assert_int_not_equal(grant.gpus[0], second.gpus[0]);
    assert_int_equal(slot_release(stage->table, grant.id), 0);
    assert_int_equal(slot_release(stage->table, second.id), 0);
    assert_int_equal(take(stage, &two, &grant), 0);
    assert_int_equal(grant.count, 2);
    assert_int_not_equal(grant.gpus[0], grant.gpus[1]);
    assert_int_equal(take(stage, &part, &second), -EBUSY);
    assert_non_null(strstr(stage->failure.reason, "does not share"));
}

static void programs_without_a_lease_are_respected(void **state)
{
    struct stage *stage = *state;
    struct slot_grant grant;
    struct slot_request one = whole(1);
    strcpy(stage->gpus[0].occupant, "python of alice (PID 5)");
    assert_int_equal(take(stage, &one, &grant), 0);
    assert_int_equal(grant.gpus[0], 1);
    assert_int_equal(take(stage, &one, &grant), -EBUSY);
    assert_non_null(strstr(stage->failure.reason, "python of alice"));
    one.beside = true;
    assert_int_equal(take(stage, &one, &grant), 0);
    assert_int_equal(grant.gpus[0], 0);
}

static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        for (;;)
            pause();
    }
    setpgid(pid, pid);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void a_lease_lives_as_long_as_holder_or_job(void **state)
{
    struct stage *stage = *state;
    struct slot_request quarter = shared(25, 20);
    pid_t job = start_child();
    pid_t holder = fork();
    if (holder == 0) {
        struct slot_grant grant;
        int r = take(stage, &quarter, &grant);
        if (r == 0)
            r = slot_begin(stage->table, grant.id, job);
        _exit(r == 0 ? 0 : 1);
    }
    int status;
    waitpid(holder, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(count_leases(stage), 1);
    end_child(job);
    assert_int_equal(count_leases(stage), 0);
}

static void a_zombie_holds_nothing(void **state)
{
    struct stage *stage = *state;
    struct slot_request quarter = shared(25, 20);
    pid_t holder = fork();
    if (holder == 0) {
        struct slot_grant grant;
        _exit(take(stage, &quarter, &grant) == 0 ? 0 : 1);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)holder, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(count_leases(stage), 0);
    waitpid(holder, NULL, 0);
}

static void rubbish_is_refused_by_name(void **state)
{
    struct stage *stage = *state;
    struct slot_grant grant;
    struct slot_request one = whole(1);
    char path[96];
    snprintf(path, sizeof(path), "%s/leases", stage->folder);
    static const char *const rubbish[] = {"", "hello\n",
                                          "rooftop leases 1 1\n1 GPU-0 y 1 1 1 1 1 1 1 1 n\n",
                                          "rooftop leases 1 1\n1 GPU-0 x\n"};
    for (size_t i = 0; i < ARRAY_SIZE(rubbish); i++) {
        FILE *file = fopen(path, "we");
        fputs(rubbish[i], file);
        fclose(file);
        assert_int_equal(take(stage, &one, &grant), -EBADMSG);
        assert_non_null(strstr(stage->failure.reason, path));
    }
}

/* Many processes take and release at random, and are killed at random. What each holds is written
 * into memory that they share, after it was given and until before it is given back: the sums there
 * can never be more than there is. */
enum { WORKERS = 4, HELD = 8 };

struct worker_state {
    pid_t pid;
    unsigned changes; /* of what it holds: sums read across some are no sums */
    bool doomed;      /* it is being killed: it may hold no lease any more */
    unsigned long operations;
    unsigned long checks;
    unsigned long over; /* how often it saw more given than there is */
    int error;          /* that a call gave */
    struct {
        uint64_t id;
        int gpu; /* −1: none */
        int sm;  /* 1000: exclusive */
    } held[HELD];
};

static unsigned count_changes(struct worker_state *workers)
{
    unsigned sum = 0;
    for (size_t w = 0; w < WORKERS; w++)
        sum += __atomic_load_n(&workers[w].changes, __ATOMIC_SEQ_CST);
    return sum;
}

static void hold(struct worker_state *worker, size_t place, int gpu, int sm)
{
    __atomic_add_fetch(&worker->changes, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&worker->held[place].sm, sm, __ATOMIC_SEQ_CST);
    __atomic_store_n(&worker->held[place].gpu, gpu, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&worker->changes, 1, __ATOMIC_SEQ_CST);
}

static void check_sums(struct worker_state *workers, struct worker_state *self)
{
    int sums[2] = {0};
    unsigned before = count_changes(workers);
    for (size_t w = 0; w < WORKERS; w++)
        for (size_t i = 0; i < HELD; i++) {
            int gpu = __atomic_load_n(&workers[w].held[i].gpu, __ATOMIC_SEQ_CST);
            if (gpu >= 0 && !__atomic_load_n(&workers[w].doomed, __ATOMIC_SEQ_CST))
                sums[gpu] += __atomic_load_n(&workers[w].held[i].sm, __ATOMIC_SEQ_CST);
        }
    if (count_changes(workers) != before)
        return;
    for (size_t gpu = 0; gpu < 2; gpu++)
        self->over += sums[gpu] > 100 && sums[gpu] != 1000;
    self->checks++;
}

static void operate(struct stage *stage, struct slot_table *table, struct worker_state *workers,
                    struct worker_state *self)
{
    size_t place = (size_t)(lrand48() % HELD);
    if (self->held[place].gpu >= 0) {
        hold(self, place, -1, 0);
        int r = slot_release(table, self->held[place].id);
        self->error = r < 0 ? r : self->error;
        return;
    }
    int sm = (int)(1 + lrand48() % 60);
    struct slot_request request = lrand48() % 8 ? shared(sm, 1) : whole(1);
    struct slot_grant grant;
    int r = slot_take(table, &request, stage->gpus, 2, &grant, &stage->failure);
    if (r == -EBUSY)
        return;
    if (r < 0) {
        self->error = r;
        return;
    }
    self->held[place].id = grant.id;
    hold(self, place, (int)grant.gpus[0], request.mode == SLOT_SHARED ? sm : 1000);
    check_sums(workers, self);
}

static void let_go(struct worker_state *worker)
{
    for (size_t i = 0; i < HELD; i++)
        hold(worker, i, -1, 0);
    __atomic_store_n(&worker->doomed, false, __ATOMIC_SEQ_CST);
}

static pid_t start_worker(struct stage *stage, struct worker_state *workers, size_t w, long seed)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct slot_table *table;
    struct counter_failure failure;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    srand48(seed);
    if (slot_open(&table, stage->folder, &failure) < 0)
        _exit(1);
    for (;;) {
        operate(stage, table, workers, &workers[w]);
        __atomic_add_fetch(&workers[w].operations, 1, __ATOMIC_SEQ_CST);
    }
}

static void end_worker(struct worker_state *worker)
{
    __atomic_store_n(&worker->doomed, true, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&worker->changes, 1, __ATOMIC_SEQ_CST);
    end_child(worker->pid);
}

static unsigned long sum_operations(const struct worker_state *workers)
{
    unsigned long sum = 0;
    for (size_t w = 0; w < WORKERS; w++)
        sum += __atomic_load_n(&workers[w].operations, __ATOMIC_SEQ_CST);
    return sum;
}

static void many_processes_never_get_more_than_there_is(void **state)
{
    struct stage *stage = *state;
    const char *text = getenv("SLOT_OPERATIONS");
    unsigned long wanted = text ? strtoul(text, NULL, 10) : 5000;
    struct worker_state *workers = mmap(NULL, WORKERS * sizeof(*workers), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(workers, MAP_FAILED);
    long seed = (long)(clock_realtime() * 1e3);
    print_message("# seed %ld\n", seed);
    srand48(seed);
    for (size_t w = 0; w < WORKERS; w++) {
        let_go(&workers[w]);
        workers[w].pid = start_worker(stage, workers, w, seed + (long)w);
    }
    unsigned kills = 0;
    while (sum_operations(workers) < wanted || kills <= 10) {
        usleep((useconds_t)(1000 + lrand48() % 20000));
        size_t w = (size_t)(lrand48() % WORKERS);
        end_worker(&workers[w]);
        let_go(&workers[w]);
        kills++;
        workers[w].pid = start_worker(stage, workers, w, seed + (long)(WORKERS + kills));
    }
    unsigned long over = 0, checks = 0, errors = 0;
    for (size_t w = 0; w < WORKERS; w++) {
        end_worker(&workers[w]);
        over += workers[w].over;
        checks += workers[w].checks;
        errors += workers[w].error != 0;
    }
    print_message("# %lu operations, %lu sums, %u kills\n", sum_operations(workers), checks, kills);
    assert_int_equal(errors, 0);
    assert_int_equal(over, 0);
    assert_true(checks > wanted / 100);
    assert_int_equal(count_leases(stage), 0);
    munmap(workers, WORKERS * sizeof(*workers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_jobs_fill_one_gpu_before_the_next, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_lease_has_a_number_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neither_sms_nor_memory_are_given_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_is_summed_over_all_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exclusive_job_is_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_without_a_lease_are_respected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lease_lives_as_long_as_holder_or_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_zombie_holds_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rubbish_is_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_processes_never_get_more_than_there_is, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
