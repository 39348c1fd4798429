/* What the log of an MPS server tells of a job's processes; its lines are those of a server on an
 * H200. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "share/mps.h"

#define LINE(text) "[2026-11-30 20:09:12.496 Server   715] " text "\n"
#define DOWN(pid)  LINE("Client {PID: " pid ", Context ID: 1} on device 0 to be torn down")
#define FAULT      LINE("Server is handling a fatal GPU error.")

static const pid_t own[] = {724, 725};

static void expect(const char *before, const char *text, struct mps_story expected)
{
    struct mps mps = {.log = "/tmp/mps-log-XXXXXX"};
    char path[256];
    assert_non_null(mkdtemp(mps.log));
    snprintf(path, sizeof(path), "%s/server.log", mps.log);
    assert_int_equal(mps_log_length(&mps), 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "%s%s", before, text);
    fclose(file);
    assert_int_equal(mps_log_length(&mps), strlen(before) + strlen(text));
    struct mps_story story;
    mps_read_log(&mps, (long)strlen(before), own, 2, &story);
    unlink(path);
    rmdir(mps.log);
    assert_int_equal(story.connected.own, expected.connected.own);
    assert_int_equal(story.connected.others, expected.connected.others);
    assert_int_equal(story.torn_down.own, expected.torn_down.own);
    assert_int_equal(story.torn_down.others, expected.torn_down.others);
    assert_int_equal(story.another_had_left, expected.another_had_left);
}

static void clients_are_counted_once(void **state)
{
    (void)state;
    expect(LINE("Client {PID: 725, Context ID: 0} connected"),
           LINE("Received new client request for {PID: -1333654781, Context ID: 0}")
               LINE("Client {PID: 713, Context ID: 0} connected")
                   LINE("Client {PID: 724, Context ID: 0} connected")
                       LINE("Client {PID: 724, Context ID: 1} connected")
                           LINE("Client {PID: 724, Context ID: 1} exiting. Number of active client "
                                "contexts is 0."),
           (struct mps_story){.connected = {1, 1}});
}

static void a_fault_names_all_that_it_took_down(void **state)
{
    (void)state;
    expect("",
           LINE("Client {PID: 724, Context: 1} encountered a fatal GPU error.") FAULT DOWN("713")
               DOWN("724") LINE("Client {PID: 713, Context ID: 1} on the error-trigging process "
                                "713 to be torn down"),
           (struct mps_story){.torn_down = {1, 1}});
    expect(DOWN("713") DOWN("724"), "", (struct mps_story){0});
}

/* Where a fault ends only its own partition, one after another is possible. */
static void of_several_faults_the_first_that_took_own_ones_counts(void **state)
{
    (void)state;
    expect("", FAULT DOWN("713") DOWN("714") FAULT DOWN("724") DOWN("725") FAULT DOWN("716"),
           (struct mps_story){.torn_down = {2, 0}});
    expect("", FAULT DOWN("713") DOWN("714") FAULT DOWN("716"),
           (struct mps_story){.torn_down = {0, 1}});
}

#define AT(time, text) "[2026-12-01 " time " Server   520] " text "\n"
#define LEFT(time, pid)                                                                            \
    AT(time, "Client {PID: " pid ", Context ID: 1} exiting. Number of active client contexts is "  \
             "1.")
#define FAULT_AT(time) AT(time, "Server is handling a fatal GPU error.")

/* As seen when a client was killed while a kernel of it ran. */
static void a_fault_may_be_of_one_that_has_just_left(void **state)
{
    (void)state;
    const struct mps_story shortly = {.torn_down = {1, 0}, .another_had_left = true};
    const struct mps_story not_so = {.torn_down = {1, 0}};
    expect("", LEFT("11:43:33.010", "529") FAULT_AT("11:43:33.155") DOWN("724"), shortly);
    expect("",
           LEFT("23:59:59.900", "529") "[2026-12-02 00:00:00.100 Server   520] Server is "
                                       "handling a fatal GPU error.\n" DOWN("724"),
           shortly);
    expect("", LEFT("11:43:30.010", "529") FAULT_AT("11:43:33.155") DOWN("724"), not_so);
    expect("", LEFT("11:43:33.010", "725") FAULT_AT("11:43:33.155") DOWN("724"), not_so);
    expect("", FAULT_AT("11:43:33.155") DOWN("724") LEFT("11:43:33.200", "529"), not_so);
    expect(LEFT("11:43:33.010", "529"), FAULT_AT("11:43:33.155") DOWN("724"), not_so);
    expect("",
           LEFT("11:43:33.010", "529") FAULT_AT("11:43:33.155") DOWN("713") FAULT_AT("11:43:35.155")
               DOWN("724"),
           not_so);
}

/* A new daemon begins a new log. */
static void a_log_that_is_shorter_is_read_from_its_begin(void **state)
{
    (void)state;
    struct mps mps = {.log = "/not/there"};
    struct mps_story story = {.connected = {7, 7}, .torn_down = {7, 7}};
    mps_read_log(&mps, 5, own, 2, &story);
    assert_memory_equal(&story, &(struct mps_story){0}, sizeof(story));

    strcpy(mps.log, "/tmp/mps-log-XXXXXX");
    char path[256];
    assert_non_null(mkdtemp(mps.log));
    snprintf(path, sizeof(path), "%s/server.log", mps.log);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(FAULT DOWN("724"), file);
    fclose(file);
    mps_read_log(&mps, 100000, own, 2, &story);
    unlink(path);
    rmdir(mps.log);
    assert_int_equal(story.torn_down.own, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_counted_once),
        cmocka_unit_test(a_fault_names_all_that_it_took_down),
        cmocka_unit_test(of_several_faults_the_first_that_took_own_ones_counts),
        cmocka_unit_test(a_fault_may_be_of_one_that_has_just_left),
        cmocka_unit_test(a_log_that_is_shorter_is_read_from_its_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
