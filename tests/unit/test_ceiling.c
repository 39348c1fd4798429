#include "store/ceiling.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmocka_test.h"

struct place {
    char folder[64];
    char path[128];
};

static int make_place(void **state)
{
    static struct place place;
    strcpy(place.folder, "/tmp/ceiling-XXXXXX");
    if (!mkdtemp(place.folder))
        return -1;
    snprintf(place.path, sizeof(place.path), "%s/rooftop/ceilings.db", place.folder);
    setenv("XDG_DATA_HOME", place.folder, 1);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    unlink(place->path);
    *strrchr(place->path, '/') = '\0';
    rmdir(place->path);
    return rmdir(place->folder);
}

static struct device h200(const char *uuid)
{
    struct device device = {0};
    device_set_text(&device, DEVICE_UUID, uuid);
    device_set_text(&device, DEVICE_NAME, "NVIDIA H200");
    return device;
}

static struct ceiling_value measured(double value, double time)
{
    struct ceiling_value made = {.origin = CEILING_MEASURED,
                                 .value = value,
                                 .spread = 0.01,
                                 .ratio = 0.9,
                                 .clock = 1326e6,
                                 .temperature = 48,
                                 .power = NAN,
                                 .time = time,
                                 .driver = "580.159.04",
                                 .how = "own kernel"};
    return made;
}

static void add(const char *path, const char *uuid, enum ceiling ceiling,
                struct ceiling_value value)
{
    struct ceiling_store *store;
    char why[256];
    assert_int_equal(ceiling_store_open(&store, path, why, sizeof(why)), 0);
    struct ceilings ceilings = {0};
    ceilings.of[ceiling] = value;
    assert_int_equal(ceiling_store_add(store, uuid, &ceilings), 0);
    ceiling_store_close(store);
}

static void write_sql(const char *path, const char *sql)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void what_is_written_is_found_again(void **state)
{
    struct place *place = *state;
    struct device device = h200("GPU-1");
    struct ceilings found;
    char why[256];
    add(place->path, "GPU-1", CEILING_TENSOR_BF16, measured(600e12, 100));
    add(place->path, "GPU-1", CEILING_TENSOR_BF16, measured(650e12, 300));
    add(place->path, "GPU-1", CEILING_TENSOR_BF16, measured(640e12, 200));
    add(place->path, "GPU-2", CEILING_TENSOR_BF16, measured(1, 400));

    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    const struct ceiling_value *value = &found.of[CEILING_TENSOR_BF16];
    assert_int_equal(value->origin, CEILING_MEASURED);
    assert_true(value->value == 650e12 && value->time == 300 && value->spread == 0.01);
    assert_true(value->ratio == 0.9 && value->clock == 1326e6 && value->temperature == 48);
    assert_true(isnan(value->power));
    assert_string_equal(value->driver, "580.159.04");
    assert_string_equal(value->how, "own kernel");
    /* What was not measured here is as shipped, or not known at all. */
    assert_int_equal(found.of[CEILING_HBM_TRIAD].origin, CEILING_SHIPPED);
    struct ceilings shipped;
    ceilings_shipped(&device, &shipped);
    assert_true(found.of[CEILING_HBM_TRIAD].value == shipped.of[CEILING_HBM_TRIAD].value);
    assert_true(found.of[CEILING_HBM_TRIAD].value > 4e12);
}

static void without_a_store_there_is_what_is_shipped(void **state)
{
    (void)state;
    struct device device = h200("GPU-1");
    struct ceilings found;
    char why[256];
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    assert_int_equal(found.of[CEILING_TENSOR_BF16].origin, CEILING_SHIPPED);
    assert_non_null(strstr(found.of[CEILING_TENSOR_BF16].how, "one H200"));

    device_set_text(&device, DEVICE_NAME, "NVIDIA H200 NVL");
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    assert_int_equal(found.of[CEILING_TENSOR_BF16].origin, CEILING_UNKNOWN);

    device = h200("MIG-1");
    device_set_number(&device, DEVICE_PARENT, 0);
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    assert_int_equal(found.of[CEILING_TENSOR_BF16].origin, CEILING_UNKNOWN);
}

/* As one that a full disk has cut short, or that another process is making. */
static void an_empty_store_holds_nothing(void **state)
{
    struct place *place = *state;
    struct device device = h200("GPU-1");
    struct ceilings found;
    char why[256] = "";
    file_make_folders(place->path);
    assert_int_equal(close(open(place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    assert_int_equal(found.of[CEILING_FP32].origin, CEILING_SHIPPED);
    add(place->path, "GPU-1", CEILING_FP32, measured(50e12, 100));
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    assert_int_equal(found.of[CEILING_FP32].origin, CEILING_MEASURED);
}

static void implausible_rows_are_left_out(void **state)
{
    struct place *place = *state;
    add(place->path, "GPU-1", CEILING_FP32, measured(50e12, 100));
    write_sql(place->path, "INSERT INTO ceiling(uuid, kind, time, value, ratio, clock, how) VALUES"
                           "('GPU-1', 'fp32', 200, -1, 0.5, 1, ''),"
                           "('GPU-1', 'fp32', 201, 9e999, 0.5, 1, ''),"
                           "('GPU-1', 'fp32', 202, 'much', 0.5, 1, ''),"
                           "('GPU-1', 'fp33', 203, 5e12, 0.5, 1, ''),"
                           "('GPU-1', 'fp64', 204, 5e12, 7, -3, x'41ff0a42')");
    struct device device = h200("GPU-1");
    struct ceilings found;
    char why[256];
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), 0);
    assert_true(found.of[CEILING_FP32].value == 50e12);
    const struct ceiling_value *fp64 = &found.of[CEILING_FP64];
    assert_true(fp64->value == 5e12 && isnan(fp64->ratio) && isnan(fp64->clock));
    assert_string_equal(fp64->how, "A\xef\xbf\xbd B");
}

static void a_file_of_another_kind_is_left_alone(void **state)
{
    struct place *place = *state;
    add(place->path, "GPU-1", CEILING_FP32, measured(50e12, 100));
    write_sql(place->path, "PRAGMA application_id = 7");
    struct ceiling_store *store;
    char why[256];
    assert_int_equal(ceiling_store_open(&store, place->path, why, sizeof(why)), -EBADMSG);
    assert_non_null(strstr(why, "this is no store of ceilings"));

    struct device device = h200("GPU-1");
    struct ceilings found;
    assert_int_equal(ceilings_find(&device, &found, why, sizeof(why)), -EBADMSG);
    assert_non_null(strstr(why, "ceilings.db"));
    assert_int_equal(found.of[CEILING_FP32].origin, CEILING_SHIPPED);
}

static void a_database_without_identity_is_left_alone(void **state)
{
    struct place *place = *state;
    file_make_folders(place->path);
    write_sql(place->path, "CREATE TABLE others(a)");
    struct ceiling_store *store;
    char why[256];
    assert_int_equal(ceiling_store_open(&store, place->path, why, sizeof(why)), -EBADMSG);
    assert_non_null(strstr(why, "this is no store of ceilings"));
}

static void a_folder_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    struct ceiling_store *store;
    char why[256];
    assert_true(ceiling_store_open(&store, "/proc/rooftop/ceilings.db", why, sizeof(why)) < 0);
    assert_non_null(strstr(why, "/proc/rooftop"));
}

static void the_path_is_where_the_specification_says(void **state)
{
    (void)state;
    struct strbuf path = {0};
    setenv("XDG_DATA_HOME", "/data", 1);
    assert_int_equal(ceiling_store_path(&path), 0);
    assert_string_equal(path.text, "/data/rooftop/ceilings.db");
    strbuf_clear(&path);
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", "/home/a", 1);
    assert_int_equal(ceiling_store_path(&path), 0);
    assert_string_equal(path.text, geteuid() == 0 ? "/var/lib/rooftop/ceilings.db"
                                                  : "/home/a/.local/share/rooftop/ceilings.db");
    strbuf_free(&path);
}

static void names_and_types_lead_to_ceilings(void **state)
{
    (void)state;
    for (size_t i = 0; i < CEILING_COUNT; i++)
        assert_int_equal(ceiling_by_name(ceiling_info((enum ceiling)i)->name), i);
    assert_int_equal(ceiling_by_name("nothing"), CEILING_COUNT);
    assert_int_equal(ceiling_of_tensor(LABEL_TYPE_BF16), CEILING_TENSOR_BF16);
    assert_int_equal(ceiling_of_tensor(LABEL_TYPE_FP32), CEILING_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_found_again, make_place, remove_place),
        cmocka_unit_test_setup_teardown(an_empty_store_holds_nothing, make_place, remove_place),
        cmocka_unit_test_setup_teardown(implausible_rows_are_left_out, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_database_without_identity_is_left_alone, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_file_of_another_kind_is_left_alone, make_place,
                                        remove_place),
        cmocka_unit_test(without_a_store_there_is_what_is_shipped),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_told),
        cmocka_unit_test(the_path_is_where_the_specification_says),
        cmocka_unit_test(names_and_types_lead_to_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
