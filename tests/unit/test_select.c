#include <errno.h>
#include <string.h>

#include "monitor/select.h"

#include "cmocka_test.h"

static struct device devices[7];
static const struct counter host = {.devices = devices, .device_count = ARRAY_SIZE(devices)};

static void add(size_t i, unsigned index, const char *uuid, const char *pci)
{
    devices[i].index = index;
    device_set_text(&devices[i], DEVICE_UUID, uuid);
    device_set_text(&devices[i], DEVICE_PCI_ADDRESS, pci);
}

static void make_instance(size_t i, unsigned parent)
{
    device_set_number(&devices[i], DEVICE_PARENT, parent);
}

static int set_up(void **state)
{
    (void)state;
    add(0, 0, "GPU-7a3f0000-1111-4000-8000-000000000001", "00000000:17:00.0");
    add(1, 1, "GPU-7a3f9999-1111-4000-8000-000000000002", "00000000:41:00.0");
    add(2, 0, "MIG-5e000000-1111-4000-8000-000000000003", "00000000:41:00.0");
    make_instance(2, 1);
    add(3, 2, "GPU-c0000000-1111-4000-8000-000000000004", "00000001:41:00.0");
    add(4, 0, "MIG-GPU-c0000000-1111-4000-8000-000000000004/1/0", "00000001:41:00.0");
    make_instance(4, 2);
    add(5, 1, "MIG-GPU-c0000000-1111-4000-8000-000000000004/1/00", "00000001:41:00.0");
    make_instance(5, 2);
    add(6, 3, "GPU-12345678-1111-4000-8000-000000000006", "00000000:99:00.0");
    return 0;
}

static void expect(const char *text, size_t count, const size_t *expected)
{
    struct counter_failure failure = {0};
    size_t *list = NULL;
    size_t found = 0;
    int r = select_devices(&host, text, &list, &found, &failure);
    if (r < 0)
        print_error("%s: %s\n", text, failure.reason);
    assert_int_equal(r, 0);
    assert_int_equal(found, count);
    assert_memory_equal(list, expected, count * sizeof(*list));
    free(list);
}

#define EXPECT(text, ...)                                                                          \
    expect(text, ARRAY_SIZE(((const size_t[]){__VA_ARGS__})), (const size_t[]){__VA_ARGS__})

static void expect_failure(const char *text, const char *reason)
{
    struct counter_failure failure = {0};
    size_t *list = NULL;
    size_t count = 77;
    assert_int_equal(select_devices(&host, text, &list, &count, &failure), -EINVAL);
    assert_non_null(strstr(failure.reason, reason));
    assert_null(list);
    assert_int_equal(count, 77);
}

static void takes_indices(void **state)
{
    (void)state;
    EXPECT(NULL, 0, 1, 2, 3, 4, 5, 6);
    EXPECT("0", 0);
    EXPECT("2", 3);
    EXPECT("2,0", 3, 0);
    EXPECT("1, 1,GPU-7a3f9999", 1);
    EXPECT("1/0", 2);
    EXPECT("2/1,2/0", 5, 4);
    expect_failure("2/2", "'2/2' is no GPU here");
    expect_failure("0/0", "'0/0' is no GPU here");
    expect_failure("7", "'7' is no GPU here");
    expect_failure("123", "'123' is no GPU here");
    expect_failure("0,9", "'9' is no GPU here");
    expect_failure(",", "names no GPU");
    expect_failure("-1", "is no GPU here");
}

static void takes_uuids_and_their_starts(void **state)
{
    (void)state;
    EXPECT("GPU-7a3f0", 0);
    EXPECT("gpu-7A3F0", 0);
    EXPECT("7a3f9", 1);
    EXPECT("12345", 6);
    EXPECT("MIG-5e", 2);
    EXPECT("GPU-c0000000-1111-4000-8000-000000000004", 3);
    EXPECT("MIG-GPU-c0000000-1111-4000-8000-000000000004/1/0", 4);
    expect_failure("GPU-7a3f", "means more than one GPU");
    expect_failure("GPU-d", "is no GPU here");
    expect_failure("GPU-7a3f0000-1111-4000-8000-0000000000019", "is no GPU here");
}

static void takes_pci_addresses(void **state)
{
    (void)state;
    EXPECT("00000000:41:00.0", 1);
    EXPECT("0000:41:00.0", 1);
    EXPECT("0001:41:00.0", 3);
    EXPECT("17:00.0", 0);
    EXPECT("17:00", 0);
    expect_failure("41:00.0", "means more than one GPU");
    expect_failure("7:00.0", "is no GPU here");
    expect_failure("17:00.1", "is no GPU here");
    expect_failure("17:00.", "is no GPU here");
    expect_failure(":17:00", "is no GPU here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_indices),
        cmocka_unit_test(takes_uuids_and_their_starts),
        cmocka_unit_test(takes_pci_addresses),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
